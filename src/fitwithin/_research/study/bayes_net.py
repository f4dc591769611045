"""A Bayesian network learned on a table, and as many rows as wanted sampled from it.

pgmpy learns the network: the class is a parent of every column, and a tree over the columns gives each of them one
more (tree-augmented naive Bayes, a maximum spanning tree by mutual information given the class). With two parents at
most, the tables stay small enough for originals of a few hundred rows, and every column depends on the class, which is
what the sampled sets are for. Weka's generator was the other choice: it needs Java, and a structure learned elsewhere.

Rows are sampled here, a column at a time: pgmpy's own sampler takes about ten times as long for a million of them.
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

from fitwithin._research.study.codings import Categories, Codes, Coding, Intervals, is_number
from fitwithin._research.study.data import NotToBeHad

_PSEUDO_ROWS = 2.0
"""Rows added to those of each combination of the parents' states, with values like the column's as a whole: what few
rows have in common by chance is no rule. Without them the class is far easier to tell than in the original."""


_EVENLY = 0.1
"""The part of these rows that has each value alike, so that no value is impossible."""


@dataclass(frozen=True, eq=False)
class Node:
    """A column of a network.

    Parameters
    ----------
    parents : tuple of str
        Columns it depends on.
    sizes : tuple of int
        How many states each of them has.
    chances : numpy.ndarray
        For each combination of the parents' states, the last parent's changing fastest, the chances of its own states.
    """

    parents: tuple[str, ...]
    sizes: tuple[int, ...]
    chances: npt.NDArray[np.float64]

    def sample(self, codes: Mapping[str, Codes], rows: int, rng: np.random.Generator) -> Codes:
        """A state for each row, given those of the parents."""
        given = np.zeros(rows, np.int64)
        if self.parents:
            given = np.ravel_multi_index(tuple(codes[parent] for parent in self.parents), self.sizes)
        # Combination i has the numbers from i to i + 1, divided by its chances; a random number there finds its state.
        ends = np.cumsum(self.chances, axis=1) + np.arange(len(self.chances))[:, None]
        states = self.chances.shape[1]
        found = np.searchsorted(ends.ravel(), rng.random(rows) + given, side="right") - given * states
        within: Codes = np.clip(found, 0, states - 1)  # chances may add up to a hair less than 1
        return within


@dataclass(frozen=True, eq=False)
class BayesNet:
    """A Bayesian network over the columns of a table.

    Parameters
    ----------
    codings : dict
        For each column, in the table's order, what its states are.
    nodes : dict
        For each column what it depends on, every one after its parents.
    """

    codings: Mapping[str, Coding]
    nodes: Mapping[str, Node]

    def sample(self, rows: int, seed: int = 0) -> Any:
        """So many rows, as a frame with the columns of the original."""
        rng = np.random.default_rng(seed)
        codes: dict[str, Codes] = {}
        for name, node in self.nodes.items():
            codes[name] = node.sample(codes, rows, rng)
        return pd.DataFrame({name: coding.draw(codes[name], rng) for name, coding in self.codings.items()}, copy=False)

    def translate(self, original: Any) -> Any:
        """The original in the terms of what is sampled: intervals by name where those are sampled."""
        named = {
            name: coding.draw(coding.encode(original[name]), np.random.default_rng(0))
            for name, coding in self.codings.items()
            if isinstance(coding, Categories) or (isinstance(coding, Intervals) and coding.named)
        }
        return original.assign(**named)


def learn(frame: Any, *, target: str = "target", bins: int | None = None, nominal: Collection[str] = ()) -> BayesNet:
    """A Bayesian network learned on a frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original.
    target : str, default="target"
        The column with the class.
    bins : int, optional
        Cut every column of numbers into so many intervals of the same width and leave it at that: it is sampled as
        nominal. By default the intervals have about as many rows in each, are as many as leave about one row for each
        combination of class, interval and the parent's interval, and numbers are drawn from them again.
    nominal : collection of str
        Columns of numbers that are categories.

    Returns
    -------
    BayesNet
        Ready to be sampled from.

    Raises
    ------
    NotToBeHad
        If pgmpy is not installed.
    """
    count = max(3, round((len(frame) / frame[target].nunique()) ** (1 / 3)))
    codings: dict[str, Coding] = {}
    for name in frame:
        if name == target or name in nominal or not is_number(frame[name]):
            codings[name] = Categories.of(frame[name])
        elif bins is not None:
            codings[name] = Intervals.of_one_width(frame[name], bins)
        else:
            codings[name] = Intervals.of(frame[name], count)
    codes = pd.DataFrame({name: coding.encode(frame[name]) for name, coding in codings.items()})
    return BayesNet(codings, _nodes(codes, {name: coding.states for name, coding in codings.items()}, target))


def mutual_information(x: Any, y: Any) -> float:
    """How much two columns of states tell of each other, in nats.

    Examples
    --------
    >>> round(mutual_information([0, 1, 0, 1], [0, 1, 0, 1]), 3), mutual_information([0, 1, 0, 1], [0, 0, 1, 1])
    (0.693, 0.0)
    """
    x, y = np.asarray(x), np.asarray(y)
    width = int(y.max()) + 1
    joint = np.bincount(x * width + y, minlength=(int(x.max()) + 1) * width).reshape(-1, width) / len(x)
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    there = joint > 0
    return float(np.sum(joint[there] * np.log(joint[there] / independent[there])))


def _nodes(codes: Any, states: Mapping[str, int], target: str) -> dict[str, Node]:
    """The columns of the network as pgmpy learns it, parents first."""
    # It wants names that are plain words.
    short = {name: f"c{i}" for i, name in enumerate(codes)}
    long = {value: key for key, value in short.items()}
    domains = {short[name]: list(range(count)) for name, count in states.items()}
    tables, order = _learn_with_pgmpy(codes.rename(columns=short), short[target], domains)
    nodes = {}
    for name in order:
        parents = tuple(long[parent] for parent in tables[name].variables[1:])
        sizes = tuple(states[parent] for parent in parents)
        nodes[long[name]] = Node(parents, sizes, np.ascontiguousarray(tables[name].get_values().T))
    return nodes


def _learn_with_pgmpy(codes: Any, target: str, domains: Mapping[str, list[int]]) -> tuple[dict[str, Any], list[str]]:
    """Pgmpy's table for each column, and the columns in an order with parents first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import alone announces half a dozen changes to come
        try:
            import networkx as nx
            from pgmpy.estimators import TreeSearch
            from pgmpy.models import DiscreteBayesianNetwork
            from pgmpy.parameter_estimator import DiscreteBayesianEstimator
        except ImportError as error:
            advice = "it takes pgmpy to generate it: pip install 'fitwithin[study]'"
            raise NotToBeHad(f"{advice} ({error})") from error
        root = next(column for column in codes if column != target)
        # One process: the work is small, and pgmpy's workers would outlive it.
        search = TreeSearch(codes, root_node=root, n_jobs=1)
        tree = search.estimate("tan", target, edge_weights_fn=mutual_information, show_progress=False)
        network = DiscreteBayesianNetwork(tree.edges())
        added = {name: _pseudo_rows(codes, name, network.get_parents(name), domains) for name in codes}
        estimator = DiscreteBayesianEstimator(state_names=domains, prior_type="dirichlet", pseudo_counts=added)
        tables = {table.variable: table for table in estimator.fit(network, codes).parameters_}
        return tables, list(nx.topological_sort(network))


def _pseudo_rows(
    codes: Any, name: str, parents: list[str], domains: Mapping[str, list[int]]
) -> npt.NDArray[np.float64]:
    """What is added to the counts of a column's states, the same for each combination of its parents' states."""
    states = len(domains[name])
    shares = np.bincount(codes[name], minlength=states) / len(codes)
    rows = _PSEUDO_ROWS * ((1 - _EVENLY) * shares + _EVENLY / states)
    return np.tile(rows[:, None], math.prod(len(domains[parent]) for parent in parents))
