"""The command line in this process."""

from typer.testing import CliRunner

from fitwithin._cli import app


def invoke(*arguments):
    """Run the command with these words and return its exit code and output."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])
