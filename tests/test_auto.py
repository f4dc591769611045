"""Auto: the default."""

import numpy as np

from fitwithin.teachers import TCT, Answers, Auto, Deck, Exam


def transcript(teacher):
    requests, seen, answers = teacher.teach(Deck(5000, np.random.default_rng(7))), [], None
    while True:
        try:
            request = requests.send(answers)
        except StopIteration as end:
            return seen, end.value
        seen.append((type(request), request.rows.tolist()))
        answers = Answers(request.rows, request.rows % 5 == 0) if isinstance(request, Exam) else None


def test_auto_teaches_as_tct_with_a_fifth_of_mistakes_does():
    assert transcript(Auto()) == transcript(TCT(alpha=0.2, first=0.005))


def test_the_best_model_is_returned():
    assert Auto().returns == "best"
