"""Shuffled copies of data sets: rows in random order, made once, for fits that begin at once."""

from fitwithin._tabular.shuffling.shuffle import shuffle_data_set

__all__ = ["shuffle_data_set"]
