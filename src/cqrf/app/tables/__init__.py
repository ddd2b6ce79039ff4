"""Tables from files and pipes: CSV, Parquet and Feather, in and out, block by block.

Needs pyarrow and pandas (``pip install 'cqrf[cli]'``); nothing else of the package does.
"""

from cqrf.app.tables.columns import Kind
from cqrf.app.tables.copies import note_near_copies, refuse_copies
from cqrf.app.tables.errors import TableError, TableTooLarge
from cqrf.app.tables.features import Features, read_features
from cqrf.app.tables.intervals import note_late_entry, refuse_intervals
from cqrf.app.tables.limits import Limits
from cqrf.app.tables.notation import points_as_thousands
from cqrf.app.tables.outcome import Outcome, OutcomeColumns, read_outcome
from cqrf.app.tables.reading import Block, Dialect, Table, open_table
from cqrf.app.tables.writing import FORMATS, open_output, spreadsheet_safe

__all__ = [
    "FORMATS",
    "Block",
    "Dialect",
    "Features",
    "Kind",
    "Limits",
    "Outcome",
    "OutcomeColumns",
    "Table",
    "TableError",
    "TableTooLarge",
    "note_late_entry",
    "note_near_copies",
    "open_output",
    "open_table",
    "points_as_thousands",
    "read_features",
    "read_outcome",
    "refuse_copies",
    "refuse_intervals",
    "spreadsheet_safe",
]
