"""Auto, the default teacher."""

from fitwithin.teachers._auto.teacher import Auto

__all__ = ["Auto"]
