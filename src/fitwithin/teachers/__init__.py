"""Teachers choose the rows to train on next, and the rows to check the model on.

Your own teacher takes a dozen lines: a class with an attribute `returns` and a generator method `teach(deck)`; see
`Teacher`.
"""

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import (
    Answers,
    Estimate,
    Exam,
    Lesson,
    LessonReport,
    StopReason,
    Wait,
    difference_error,
    examine,
    teach,
)
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._auto import Auto
from fitwithin.teachers._base import ParallelTeacher, Requests, Teacher
from fitwithin.teachers._double import Double
from fitwithin.teachers._full import Full
from fitwithin.teachers._osct import OSCT
from fitwithin.teachers._sgd import SGD
from fitwithin.teachers._tbatch import TBatch
from fitwithin.teachers._tct import TCT
from fitwithin.teachers._tct_active import TCTActive
from fitwithin.teachers._tct_base import TCTBase

__all__ = [
    "OSCT",
    "SGD",
    "TCT",
    "Answers",
    "Auto",
    "CostEstimates",
    "Deck",
    "Double",
    "Estimate",
    "Exam",
    "Full",
    "Lesson",
    "LessonReport",
    "ParallelTeacher",
    "Requests",
    "StopReason",
    "TBatch",
    "TCTActive",
    "TCTBase",
    "Teacher",
    "Wait",
    "difference_error",
    "examine",
    "teach",
]
