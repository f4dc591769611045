"""Shuffled copies of data sets: rows in random order, made once, for fits that begin at once."""

from fitwithin._tabular.shuffling.shuffle import ShuffleResult, shuffle_data_set

__all__ = ["ShuffleResult", "shuffle_data_set"]
