"""Published Tree-of-Thoughts logs, read into our traces. Knows no model, no search and no answer key."""

from branchwise.bench.imported.folder import Imported, import_log
from branchwise.bench.imported.logs import FORMATS, Log, LogItem, read_log

__all__ = ["FORMATS", "Imported", "Log", "LogItem", "import_log", "read_log"]
