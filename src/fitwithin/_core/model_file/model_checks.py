"""Checks for a model from a file, after it is loaded and before it is used.

Some learners follow indices in compiled code without bounds checks. A forged file could make them read or write
outside of their arrays, so everything that such code follows is checked here and in `tree_checks`.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, SVR, NuSVC, NuSVR

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.model_file.array_checks import are_within, is_count, is_plain_array
from fitwithin._core.model_file.tree_checks import has_valid_trees
from fitwithin._core.target import Array

_METRICS = {"chebyshev", "cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "minkowski", "sqeuclidean"}
"""Metrics of nearest neighbours without arrays of their own, which would be read without bounds checks."""


_KERNELS = {"linear", "poly", "rbf", "sigmoid"}
"""Kernels that libsvm computes from the rows. A precomputed one is an index into the rows."""


_RANDOM_STATE_WORDS = 624
"""Words of the state of NumPy's RandomState."""


def validate_model(model: Any, trusted_types: Collection[str] = ()) -> None:
    """Check every object in a model that compiled code would follow without bounds checks.

    Parameters
    ----------
    model : object
        From a file.
    trusted_types : collection of str
        Full names of types whose objects are not checked.

    Raises
    ------
    UserInputError
        If an object refers to something that does not exist, or hides a method of its class.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> validate_model(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    """
    invalid = find_invalid_types(model) - set(trusted_types)
    if invalid:
        raise UserInputError(
            f"Its {min(invalid)} refers to rows, nodes, features or classes that do not exist: the file is damaged or "
            "malicious.",
            "Do not use it; train the model again.",
        )


def find_invalid_types(model: Any) -> set[str]:
    """Return the full names of the types that have an invalid object in a model.

    A model that was just trained may fail too, with settings that fitwithin can't check: a support vector machine of
    sparse rows, neighbours by a metric with weights, gradient boosting that starts with another learner.
    """
    return {
        f"{type(member).__module__}.{type(member).__name__}" for member in _walk_objects(model) if not _is_valid(member)
    }


def _walk_objects(model: Any) -> Iterator[Any]:
    """Yield the model and every object it contains, each once."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, str | bytes | bytearray | int | float | type(None)):
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, dict):
            waiting += found.values()
        elif isinstance(found, list | tuple | set):
            waiting += found
        elif isinstance(found, np.ndarray):
            # Without its mask: compiled code does not look at it.
            waiting += np.asarray(found).ravel().tolist() if found.dtype.hasobject else ()
        else:
            waiting += getattr(found, "__dict__", {}).values()


def _is_valid(member: Any) -> bool:
    try:
        return all(check(member) for kind, check in _CHECKS if isinstance(member, kind))
    except Exception:  # An attribute that every fitted model has is missing, or is of another type.
        return False


def _hides_no_method(member: Any) -> bool:
    """Whether no attribute takes the place of a method, such as the one that checks the width of the rows."""
    if not type(member).__module__.startswith(("sklearn.", "fitwithin.")):
        return True
    found = [inspect.getattr_static(type(member), name, None) for name in getattr(member, "__dict__", {})]
    return not any(
        hasattr(type(attribute), "__get__") and not inspect.isdatadescriptor(attribute) for attribute in found
    )


def _has_valid_state(state: np.random.RandomState) -> bool:
    values = state.get_state(legacy=False)
    return isinstance(values, dict) and bool(0 <= values["state"]["pos"] <= _RANDOM_STATE_WORDS)


def _has_valid_indices(matrix: Any) -> bool:
    """Check a sparse matrix; its own `check_format` does not look at one without elements."""
    n_elements = len(matrix.data)
    if not is_plain_array(matrix.data, 1):
        return False
    if matrix.format == "coo":
        axes = zip((matrix.row, matrix.col), matrix.shape, strict=True)
        return all(
            is_plain_array(axis, 1, "i") and len(axis) == n_elements and are_within(axis, end) for axis, end in axes
        )
    if matrix.format not in ("csc", "csr"):
        return False
    n_lines, n_indices = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    indices, ends = matrix.indices, matrix.indptr
    return bool(
        is_plain_array(indices, 1, "i")
        and is_plain_array(ends, 1, "i")
        and len(indices) == n_elements
        and are_within(indices, n_indices)
        and len(ends) == n_lines + 1
        and ends[0] == 0
        and (ends[1:] >= ends[:-1]).all()
        and ends[-1] <= n_elements
    )


def _has_valid_vocabulary(vectorizer: CountVectorizer) -> bool:
    vocabulary = getattr(vectorizer, "vocabulary_", {})
    columns = vocabulary.values()
    return type(vocabulary) is dict and all(map(is_count, columns)) and sorted(columns) == list(range(len(columns)))


def _has_valid_columns(encoder: OneHotEncoder) -> bool:
    """Whether the columns of all categories lie within the encoder's output."""
    if not hasattr(encoder, "categories_"):
        return True
    if encoder._infrequent_enabled:
        groups, rare = encoder._default_to_infrequent_mappings, encoder._infrequent_indices
    else:
        groups = rare = [None] * len(encoder.categories_)
    dropped = encoder._drop_idx_after_grouping
    if dropped is None:
        dropped = [None] * len(encoder.categories_)
    parts = zip(encoder.categories_, groups, rare, dropped, encoder._n_features_outs, strict=True)
    return all(_has_valid_codes(*part) for part in parts)


def _has_valid_codes(categories: Array, groups: Any, rare: Any, dropped: Any, n_columns: Any) -> bool:
    if not (is_count(n_columns) and is_plain_array(categories, 1) and _is_sorted(categories)):
        return False
    codes = np.arange(len(categories))
    if groups is not None:
        if not (is_plain_array(groups, 1, "i") and len(groups) == len(categories)):
            return False
        codes = groups
    if rare is not None and not (is_plain_array(rare, 1, "i") and are_within(rare, len(categories))):
        return False
    if dropped is not None:
        if not is_count(dropped):
            return False
        # A dropped category has no column; those after it move up.
        codes = codes[codes != dropped]
        codes = codes - (codes > dropped)
    return are_within(codes, n_columns)


def _is_sorted(categories: Array) -> bool:
    """Whether a search finds every category; text in an array of objects is looked up by name instead."""
    known = [value for value in categories.tolist() if value is not None and value == value]
    if categories.dtype.hasobject and all(isinstance(value, str) for value in known):
        return True
    return all(value < following for value, following in itertools.pairwise(known))


def _has_valid_neighbors(learner: Any) -> bool:
    if not hasattr(learner, "_fit_method"):
        return True
    if learner._fit_method in ("kd_tree", "ball_tree"):
        # The user trusted the tree's type by name.
        return True
    rows, n_rows = learner._fit_X, learner.n_samples_fit_
    metrics = {learner.metric, learner.effective_metric_}
    parameters = learner.effective_metric_params_
    return bool(
        learner._fit_method == "brute"
        and learner._tree is None
        and (sparse.issparse(rows) or is_plain_array(rows, 2, "fiub"))
        and is_count(learner.n_features_in_)
        and is_count(n_rows)
        and rows.shape == (n_rows, learner.n_features_in_)
        and is_count(learner.n_neighbors)
        and 1 <= learner.n_neighbors <= n_rows
        and metrics <= _METRICS
        and learner.metric_params is None
        and set(parameters) <= {"p"}
        and all(isinstance(value, int | float) for value in parameters.values())
        and isinstance(learner.p, int | float)
        and len(learner._y) == n_rows
        and (isinstance(learner, KNeighborsRegressor) or _has_valid_classes(learner))
    )


def _has_valid_classes(learner: KNeighborsClassifier) -> bool:
    codes = learner._y
    if not is_plain_array(codes, 2 if learner.outputs_2d_ else 1, "iu"):
        return False
    columns, classes = (codes.T, learner.classes_) if learner.outputs_2d_ else ([codes], [learner.classes_])
    return len(columns) == len(classes) and all(
        are_within(column, len(names)) for column, names in zip(columns, classes, strict=True)
    )


def _has_valid_support(learner: Any) -> bool:
    if not hasattr(learner, "support_"):
        return True
    n_support, n_rows, n_features = learner._n_support, len(learner.support_), learner.n_features_in_
    n_pairs = len(n_support) * (len(n_support) - 1) // 2
    is_classifier = isinstance(learner, SVC | NuSVC)
    return bool(
        learner._sparse is False
        and "_impl" not in vars(learner)
        and learner.kernel in _KERNELS
        and is_count(n_features)
        and is_plain_array(learner.support_, 1, "i")
        and is_plain_array(learner.support_vectors_, 2, "f")
        and learner.support_vectors_.shape == (n_rows, n_features)
        and is_plain_array(n_support, 1, "i")
        and len(n_support) >= 2
        and (is_classifier or len(n_support) == 2)
        and are_within(n_support, n_rows + 1)
        and (not is_classifier or n_support.sum() == n_rows)
        and is_plain_array(learner._dual_coef_, 2, "f")
        and learner._dual_coef_.shape == (len(n_support) - 1, n_rows)
        and is_plain_array(learner._intercept_, 1, "f")
        and len(learner._intercept_) == n_pairs
        and all(is_plain_array(part, 1, "f") and len(part) in (0, n_pairs) for part in (learner._probA, learner._probB))
        and len(learner._probA) == len(learner._probB)
    )


_CHECKS: tuple[tuple[Any, Callable[[Any], bool]], ...] = (
    (object, _hides_no_method),
    (object, has_valid_trees),
    (np.random.RandomState, _has_valid_state),
    (sparse.spmatrix | sparse.sparray, _has_valid_indices),
    (CountVectorizer, _has_valid_vocabulary),
    (OneHotEncoder, _has_valid_columns),
    (KNeighborsClassifier | KNeighborsRegressor, _has_valid_neighbors),
    (SVC | NuSVC | SVR | NuSVR, _has_valid_support),
)
"""Types, each with a check for its objects. All that apply are run."""
