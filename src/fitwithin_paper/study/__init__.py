"""The paper's study: data sets, protocol, results, report."""

from fitwithin_paper.study.dataset_sources import select_datasets
from fitwithin_paper.study.paper_learners import PAPER_LEARNERS
from fitwithin_paper.study.plan import PAPER_TEACHERS, StudyList
from fitwithin_paper.study.report import write_study_report
from fitwithin_paper.study.result_log import ResultLog, ResultLogLocked, lock_results, read_result_lines
from fitwithin_paper.study.resume_checks import SettingsMismatch
from fitwithin_paper.study.study import Study

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
