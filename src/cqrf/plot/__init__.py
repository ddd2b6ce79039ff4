"""Pictures of a fitted forest, with scikit-learn's conventions for displays.

Every display is made by ``from_estimator`` (and from arrays where that makes sense), holds what it
draws as attributes, draws with ``plot(ax=...)`` and keeps the artists: ``ax_``, ``figure_`` and
others. matplotlib is imported when something is drawn: ``pip install 'cqrf[plot]'``.
"""

from cqrf.plot._calibration import CalibrationDisplay
from cqrf.plot._equation import EstimatingFunctionDisplay
from cqrf.plot._fan import QuantileFanDisplay
from cqrf.plot._importance import ImportanceDisplay
from cqrf.plot._leaf_size import LeafSizePathDisplay
from cqrf.plot._neighbors import NeighborsDisplay
from cqrf.plot._survival import SurvivalCurvesDisplay

__all__ = [
    "CalibrationDisplay",
    "EstimatingFunctionDisplay",
    "ImportanceDisplay",
    "LeafSizePathDisplay",
    "NeighborsDisplay",
    "QuantileFanDisplay",
    "SurvivalCurvesDisplay",
]
