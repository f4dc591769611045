"""The teachers that have a name."""

import numpy as np
import pytest

from fitwithin.teachers import Deck, Lesson
from fitwithin.teachers._registry import TEACHERS


def test_the_names_are_those_of_the_parameter_teacher():
    assert list(TEACHERS) == ["auto", "tct", "double", "osct", "tct_al", "sgd", "full"]


@pytest.mark.parametrize("name", TEACHERS)
def test_every_name_makes_a_new_teacher_that_begins_with_a_lesson(name):
    teacher, another = TEACHERS[name](), TEACHERS[name]()

    assert teacher is not another
    assert isinstance(next(teacher.teach(Deck(1000, np.random.default_rng(0)))), Lesson)
