"""
Which learner, which hyperparameters?
=====================================

Two learners, many hyperparameters, and more rows than fit in the time limit. The search tries candidates, each a
learner with its hyperparameters, on small subsamples of the rows, and the better ones on larger ones. The candidate
that should be ahead at the deadline gets the rest of the time.
"""

import os

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from fitwithin import TimeConstrainedSearch, viz

LIMIT = os.environ.get("FITWITHIN_EXAMPLE_LIMIT", "60s")

X, y = make_classification(500_000, n_features=12, n_informative=8, n_clusters_per_class=8, random_state=0)
search = TimeConstrainedSearch(["decision-tree", "logistic-regression"], time_limit=LIMIT, random_state=0).fit(X, y)

estimate, low, high = search.score_estimate_
results = search.cv_results_
print(f"{len(results['params'])} candidates in {search.time_used_:.1f} s of {search.time_limit_:g} s")
print(f"best: {results['estimator'][search.best_index_]}, {search.best_params_ or 'own hyperparameters'}")
print(f"accuracy {estimate:.3f} [{low:.3f}, {high:.3f}], from {search.n_rows_trained_:,} of {search.n_rows_in_:,} rows")

# %%
# Each point is a fit; the larger it is, the more training rows it had. A hollow point is the last fit of a candidate
# that was dropped. The green candidate is returned.

viz.plot_race(search)

# %%
# Which numeric hyperparameters went together with a high score, among candidates on the same subsample? The search
# stays near good ones, so this describes what was tried, not every possible value.

viz.plot_settings(search)
plt.show()
