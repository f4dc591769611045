"""The paper's study: data sets, protocol, results, report."""

from ._locking import AnotherWriter, only_writer
from ._plan import LEARNERS, PAPER_TEACHERS, Plan
from ._report import write_report
from ._results import Results, read_lines
from ._resuming import OtherSettings
from ._sources import sources
from ._study import Study

__all__ = [
    "LEARNERS",
    "PAPER_TEACHERS",
    "AnotherWriter",
    "OtherSettings",
    "Plan",
    "Results",
    "Study",
    "only_writer",
    "read_lines",
    "sources",
    "write_report",
]
