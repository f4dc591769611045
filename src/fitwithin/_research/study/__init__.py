"""The paper's study: data sets, protocol, results, report."""

from fitwithin._research.study.locking import AnotherWriter, only_writer
from fitwithin._research.study.plan import LEARNERS, PAPER_TEACHERS, Plan
from fitwithin._research.study.report import write_report
from fitwithin._research.study.results import Results, read_lines
from fitwithin._research.study.resuming import OtherSettings
from fitwithin._research.study.sources import sources
from fitwithin._research.study.study import Study

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
