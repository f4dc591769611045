"""A Bayesian network learned on a table, and rows sampled from it.

pgmpy learns the network: the class is a parent of every column, and a tree over the columns gives each of them one
more parent (tree-augmented naive Bayes: a maximum spanning tree by mutual information given the class). With two
parents at most, the probability tables stay small enough for originals of a few hundred rows. Every column depends on
the class, as the study needs it. Weka's generator was rejected: it needs Java and a structure learned elsewhere.

Rows are sampled here, column by column: pgmpy's sampler takes about ten times as long for a million rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fitwithin_paper.install_command import INSTALL_COMMAND
from fitwithin_paper.study.discretization import (
    CategoryStates,
    Discretization,
    IntervalStates,
    StateCodes,
    is_numeric_column,
)
from fitwithin_paper.study.raw_dataset import DatasetUnavailable

_PSEUDO_ROWS = 2.0
"""Rows added to each combination of the parents' states, distributed like the whole column.

They smooth patterns that few rows share by chance. Without them the class is far easier to predict than in the
original."""


_UNIFORM_SHARE = 0.1
"""Share of the pseudo rows that is spread evenly over all states, so that no state is impossible."""


@dataclass(frozen=True, eq=False)
class NetworkNode:
    """A column of a network.

    Parameters
    ----------
    parents : tuple of str
        Columns that it depends on.
    parent_sizes : tuple of int
        Number of states of each parent.
    probabilities : numpy.ndarray
        Probabilities of its states, one row per combination of the parents' states. The last parent changes fastest.
    """

    parents: tuple[str, ...]
    parent_sizes: tuple[int, ...]
    probabilities: npt.NDArray[np.float64]

    def sample_states(self, codes: Mapping[str, StateCodes], n_rows: int, rng: np.random.Generator) -> StateCodes:
        """Return a state for each row, given the states of the parents."""
        given = np.zeros(n_rows, np.int64)
        if self.parents:
            given = np.ravel_multi_index(tuple(codes[parent] for parent in self.parents), self.parent_sizes)
        # Combination i owns the interval from i to i + 1, divided by its probabilities: a random number finds a state.
        ends = np.cumsum(self.probabilities, axis=1) + np.arange(len(self.probabilities))[:, None]
        n_states = self.probabilities.shape[1]
        found = np.searchsorted(ends.ravel(), rng.random(n_rows) + given, side="right") - given * n_states
        states: StateCodes = np.clip(found, 0, n_states - 1)  # probabilities may add up to slightly less than 1
        return states


@dataclass(frozen=True, eq=False)
class BayesianNetwork:
    """A Bayesian network over the columns of a table.

    Parameters
    ----------
    discretizations : dict
        States of each column, in the table's order.
    nodes : dict
        Node of each column, parents first.
    """

    discretizations: Mapping[str, Discretization]
    nodes: Mapping[str, NetworkNode]

    def sample(self, n_rows: int, seed: int = 0) -> Any:
        """Return a frame of sampled rows with the columns of the original."""
        rng = np.random.default_rng(seed)
        codes: dict[str, StateCodes] = {}
        for name, node in self.nodes.items():
            codes[name] = node.sample_states(codes, n_rows, rng)
        columns = {name: states.sample_values(codes[name], rng) for name, states in self.discretizations.items()}
        return pd.DataFrame(columns, copy=False)

    def convert_original(self, original: Any, seed: int = 0) -> Any:
        """Return the original with the kinds of the sampled columns: interval names where names are sampled."""
        rng = np.random.default_rng(seed)
        converted = {
            name: states.sample_values(states.encode(original[name]), rng)
            for name, states in self.discretizations.items()
            if isinstance(states, CategoryStates) or (isinstance(states, IntervalStates) and states.samples_names)
        }
        return original.assign(**converted)


def learn_network(
    frame: Any, *, target: str = "target", n_bins: int | None = None, nominal_columns: Collection[str] = ()
) -> BayesianNetwork:
    """Learn a Bayesian network on a frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original.
    target : str, default="target"
        The class column.
    n_bins : int, optional
        Cut every numeric column into this many intervals of equal width and sample their names. By default numbers
        are sampled, and intervals hold about equally many rows. Their number leaves about one row for each combination
        of class, interval and the parent's interval.
    nominal_columns : collection of str
        Numeric columns that are categorical.

    Returns
    -------
    BayesianNetwork
        The network.

    Raises
    ------
    DatasetUnavailable
        If pgmpy is not installed.
    """
    n_intervals = max(3, round((len(frame) / frame[target].nunique()) ** (1 / 3)))
    discretizations: dict[str, Discretization] = {}
    for name in frame:
        if name == target or name in nominal_columns or not is_numeric_column(frame[name]):
            discretizations[name] = CategoryStates.from_column(frame[name])
        elif n_bins is not None:
            discretizations[name] = IntervalStates.with_equal_widths(frame[name], n_bins)
        else:
            discretizations[name] = IntervalStates.from_column(frame[name], n_intervals)
    codes = pd.DataFrame({name: states.encode(frame[name]) for name, states in discretizations.items()})
    n_states = {name: states.n_states for name, states in discretizations.items()}
    return BayesianNetwork(discretizations, _learn_nodes(codes, n_states, target))


def mutual_information(x: Any, y: Any) -> float:
    """Return the mutual information of two columns of states, in nats.

    Examples
    --------
    >>> round(mutual_information([0, 1, 0, 1], [0, 1, 0, 1]), 3), mutual_information([0, 1, 0, 1], [0, 0, 1, 1])
    (0.693, 0.0)
    """
    x, y = np.asarray(x), np.asarray(y)
    width = int(y.max()) + 1
    joint = np.bincount(x * width + y, minlength=(int(x.max()) + 1) * width).reshape(-1, width) / len(x)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    occurs = joint > 0
    return float(np.sum(joint[occurs] * np.log(joint[occurs] / independent[occurs])))


def _learn_nodes(codes: Any, n_states: Mapping[str, int], target: str) -> dict[str, NetworkNode]:
    """Return the nodes of the network that pgmpy learns, parents first."""
    # pgmpy accepts only names that are identifiers.
    short = {name: f"c{i}" for i, name in enumerate(codes)}
    long = {value: key for key, value in short.items()}
    domains = {short[name]: list(range(count)) for name, count in n_states.items()}
    tables, order = _learn_with_pgmpy(codes.rename(columns=short), short[target], domains)
    nodes = {}
    for name in order:
        parents = tuple(long[parent] for parent in tables[name].variables[1:])
        parent_sizes = tuple(n_states[parent] for parent in parents)
        nodes[long[name]] = NetworkNode(parents, parent_sizes, np.ascontiguousarray(tables[name].get_values().T))
    return nodes


def _learn_with_pgmpy(codes: Any, target: str, domains: Mapping[str, list[int]]) -> tuple[dict[str, Any], list[str]]:
    """Return pgmpy's probability table for each column, and the columns ordered with parents first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing pgmpy raises several deprecation warnings
        try:
            import networkx as nx
            from pgmpy.estimators import TreeSearch
            from pgmpy.models import DiscreteBayesianNetwork
            from pgmpy.parameter_estimator import DiscreteBayesianEstimator
        except ImportError as error:
            raise DatasetUnavailable(f"generating it needs pgmpy ({error}). {INSTALL_COMMAND}") from error
        root = next(column for column in codes if column != target)
        # One process: the work is small, and pgmpy's workers would outlive it.
        search = TreeSearch(codes, root_node=root, n_jobs=1)
        tree = search.estimate("tan", target, edge_weights_fn=mutual_information, show_progress=False)
        network = DiscreteBayesianNetwork(tree.edges())
        pseudo_counts = {name: _count_pseudo_rows(codes, name, network.get_parents(name), domains) for name in codes}
        estimator = DiscreteBayesianEstimator(state_names=domains, prior_type="dirichlet", pseudo_counts=pseudo_counts)
        tables = {table.variable: table for table in estimator.fit(network, codes).parameters_}
        return tables, list(nx.topological_sort(network))


def _count_pseudo_rows(
    codes: Any, name: str, parents: list[str], domains: Mapping[str, list[int]]
) -> npt.NDArray[np.float64]:
    """Return the pseudo counts of a column's states, equal for each combination of its parents' states."""
    n_states = len(domains[name])
    shares = np.bincount(codes[name], minlength=n_states) / len(codes)
    counts = _PSEUDO_ROWS * ((1 - _UNIFORM_SHARE) * shares + _UNIFORM_SHARE / n_states)
    return np.tile(counts[:, None], math.prod(len(domains[parent]) for parent in parents))
