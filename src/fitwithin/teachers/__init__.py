"""Teachers: which rows to teach next, which to examine.

Write one in a dozen lines: a class with `returns` and a generator method `teach(deck)`; see
`Teacher`.
"""

from .._messages import Answers, Exam, Lesson
from ._auto import Auto
from ._base import Requests, Teacher, examine
from ._deck import Deck
from ._double import Double
from ._full import Full
from ._osct import OSCT
from ._sgd import SGD
from ._tbatch import TBatch
from ._tct import TCT
from ._tct_active import TCTActive
from ._tct_base import TCTBase

__all__ = [
    "OSCT",
    "SGD",
    "TCT",
    "Answers",
    "Auto",
    "Deck",
    "Double",
    "Exam",
    "Full",
    "Lesson",
    "Requests",
    "TBatch",
    "TCTActive",
    "TCTBase",
    "Teacher",
    "examine",
]
