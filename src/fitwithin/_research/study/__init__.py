"""The paper's study: data sets, protocol, results, report."""

from fitwithin._research.study.dataset_sources import select_datasets
from fitwithin._research.study.paper_learners import PAPER_LEARNERS
from fitwithin._research.study.plan import PAPER_TEACHERS, StudyList
from fitwithin._research.study.report import write_study_report
from fitwithin._research.study.result_log import ResultLog, ResultLogLocked, lock_results, read_result_lines
from fitwithin._research.study.resume_checks import SettingsMismatch
from fitwithin._research.study.study import Study

__all__ = [
    "PAPER_LEARNERS",
    "PAPER_TEACHERS",
    "ResultLog",
    "ResultLogLocked",
    "SettingsMismatch",
    "Study",
    "StudyList",
    "lock_results",
    "read_result_lines",
    "select_datasets",
    "write_study_report",
]
