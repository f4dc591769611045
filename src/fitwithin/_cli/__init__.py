"""The command line."""

from fitwithin._cli.app import app

__all__ = ["app"]
