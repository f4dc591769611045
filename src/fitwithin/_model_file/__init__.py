"""A model in a file: skops with a fixed list of types, and what there is to know about it beside."""

from ._storing import NotForSkops, read_about, read_model, write_model

__all__ = ["NotForSkops", "read_about", "read_model", "write_model"]
