"""The paper's study: data sets, protocol, results, report."""

from ._plan import LEARNERS, PAPER_TEACHERS, Plan
from ._report import write_report
from ._results import Results
from ._sources import sources
from ._study import Study

__all__ = ["LEARNERS", "PAPER_TEACHERS", "Plan", "Results", "Study", "sources", "write_report"]
