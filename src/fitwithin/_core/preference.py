"""Which of two models is better, by their scores on the same validation rows; the one rule for session and teachers."""

from __future__ import annotations

from dataclasses import dataclass

from fitwithin._core.candidate import Candidate
from fitwithin._core.records import Estimate, is_clearly_better, is_worse

# Times the rows of the best model, with which one with other settings replaces it although its score is a little lower.
_MANY_MORE = 4
_LITTLE = 1.0  # standard errors


@dataclass(frozen=True)
class ScoredModel:
    """What is known about a model when it is compared.

    Parameters
    ----------
    score : Estimate
        Its score on the validation rows.
    n_rows : int
        Rows that it was trained on.
    candidate : Candidate or None, default=None
        In a search, the learner and its settings.
    """

    score: Estimate
    n_rows: int
    candidate: Candidate | None = None

    def is_preferred_to(self, best: ScoredModel, error: float | None = None) -> bool:
        """Whether this model replaces the best one.

        More rows win unless the score is clearly lower: a tie on a few validation rows is a gain on many. A learner's
        own settings come first, unless others on as many rows score clearly higher. Else the higher score wins.

        Parameters
        ----------
        best : ScoredModel
            The best model.
        error : float, optional
            The standard error of the difference on the same rows; by default that of independent scores.

        Examples
        --------
        >>> small, large = ScoredModel(Estimate(0.80, 0.78, 0.82), 1000), ScoredModel(Estimate(0.79, 0.77, 0.81), 2000)
        >>> large.is_preferred_to(small), small.is_preferred_to(large)
        (True, True)
        """
        has_more_rows = self.n_rows > best.n_rows
        if self.candidate is None or best.candidate is None or self.candidate is best.candidate:
            return not is_worse(self.score, best.score, error) if has_more_rows else self._scores_higher(best)
        n_tried = max(self.candidate.number, best.candidate.number)
        is_own, best_is_own = self.candidate.has_own_settings, best.candidate.has_own_settings
        if is_own and not best_is_own and self.n_rows >= best.n_rows:
            return not is_clearly_better(best.score, self.score, error, n_tried=n_tried)
        if best_is_own and not is_own and not has_more_rows:
            return is_clearly_better(self.score, best.score, error, n_tried=n_tried)
        if self.n_rows >= _MANY_MORE * best.n_rows:
            return not is_worse(self.score, best.score, error, tolerated=_LITTLE)
        return self._scores_higher(best)

    def _scores_higher(self, best: ScoredModel) -> bool:
        return self.score.value > best.score.value
