"""Full: every row at once."""

import numpy as np
import pytest

from fitwithin.teachers import Deck, Full, Lesson


@pytest.mark.parametrize("size", [1, 500, 10_000])
def test_there_is_one_lesson_of_every_row_in_order(size):
    requests = Full().teach(Deck(size, np.random.default_rng(0)))

    lesson = next(requests)
    with pytest.raises(StopIteration) as end:
        requests.send(None)

    assert isinstance(lesson, Lesson)
    assert lesson.rows.tolist() == list(range(size))
    assert end.value.value == "all rows"


def test_the_only_model_is_returned():
    assert Full().returns == "last"
