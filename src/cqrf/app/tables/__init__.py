"""Tables from files and pipes: CSV, Parquet and Feather, in and out, block by block.

Needs pyarrow and pandas (``pip install 'cqrf[cli]'``); nothing else of the package does.
"""

from cqrf.app.tables.columns import Kind
from cqrf.app.tables.copies import note_near_copies, refuse_copies
from cqrf.app.tables.errors import TableError, TableTooLarge
from cqrf.app.tables.feature_columns import FeatureColumns, read_features
from cqrf.app.tables.limits import SizeLimits
from cqrf.app.tables.notation import points_as_thousands
from cqrf.app.tables.outcome_columns import Outcome, OutcomeColumns, read_outcome
from cqrf.app.tables.reading import Block, Dialect, TableReader, open_input
from cqrf.app.tables.start_stop import note_late_entry, refuse_start_stop
from cqrf.app.tables.writing import FORMATS, open_output, spreadsheet_safe

__all__ = [
    "FORMATS",
    "Block",
    "Dialect",
    "FeatureColumns",
    "Kind",
    "Outcome",
    "OutcomeColumns",
    "SizeLimits",
    "TableError",
    "TableReader",
    "TableTooLarge",
    "note_late_entry",
    "note_near_copies",
    "open_input",
    "open_output",
    "points_as_thousands",
    "read_features",
    "read_outcome",
    "refuse_copies",
    "refuse_start_stop",
    "spreadsheet_safe",
]
