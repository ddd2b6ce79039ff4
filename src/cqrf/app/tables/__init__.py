"""Tables from files and pipes: CSV, Parquet and Feather, in and out, block by block.

Needs pyarrow and pandas (``pip install 'cqrf[cli]'``); nothing else of the package does.
"""

from cqrf.app.tables.columns import Kind
from cqrf.app.tables.copies import refuse_copies
from cqrf.app.tables.errors import TableError, TableTooLarge
from cqrf.app.tables.feature_columns import FeatureColumns, read_features
from cqrf.app.tables.outcome_columns import Outcome, OutcomeColumns, read_outcome
from cqrf.app.tables.reading import Block, Dialect, SizeLimits, TableReader, open_input
from cqrf.app.tables.start_stop import refuse_start_stop
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
    "open_input",
    "open_output",
    "read_features",
    "read_outcome",
    "refuse_copies",
    "refuse_start_stop",
    "spreadsheet_safe",
]
