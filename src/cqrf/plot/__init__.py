"""Pictures of a fitted forest, with scikit-learn's conventions for displays.

Every display is made by ``from_estimator`` (and from arrays where that makes sense), holds what it
draws as attributes, draws with ``plot(ax=...)`` and keeps the artists: ``ax_``, ``figure_`` and
others. matplotlib is imported when something is drawn: ``pip install 'cqrf[plot]'``.
"""

from cqrf.plot.calibration import CalibrationDisplay
from cqrf.plot.equation import EstimatingFunctionDisplay
from cqrf.plot.fan import QuantileFanDisplay
from cqrf.plot.importance import ImportanceDisplay
from cqrf.plot.leaf_size import LeafSizePathDisplay
from cqrf.plot.neighbors import NeighborsDisplay
from cqrf.plot.survival import SurvivalCurvesDisplay

__all__ = [
    "CalibrationDisplay",
    "EstimatingFunctionDisplay",
    "ImportanceDisplay",
    "LeafSizePathDisplay",
    "NeighborsDisplay",
    "QuantileFanDisplay",
    "SurvivalCurvesDisplay",
]
