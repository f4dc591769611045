"""Console output: streams, warnings and characters."""

import io
import os
import subprocess
import sys
import warnings

import pytest

from fitwithin._cli.app import configure_output
from fitwithin._cli.console import stdout_to_stderr, warnings_as_notes


def test_a_warning_is_printed_once_and_in_one_line(capsys):
    with warnings_as_notes():
        for text in ("one\nand its details", "two", "one\nand other details"):
            warnings.warn(text, UserWarning, stacklevel=1)

    assert capsys.readouterr().err == "Note: one\nNote: two\n"


def test_standard_output_is_redirected_for_libraries_and_restored(capfd):
    with stdout_to_stderr():
        os.write(1, b"from a library\n")
    os.write(1, b"from the command\n")

    output, errors = capfd.readouterr()
    assert output == "from the command\n"
    assert errors == "from a library\n"


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_character_that_a_stream_can_not_encode_is_replaced(monkeypatch, name):
    content = io.BytesIO()
    stream = io.TextIOWrapper(content, encoding="ascii")
    monkeypatch.setattr(sys, name, stream)

    configure_output()
    stream.write("ja 🙂")
    stream.flush()

    assert content.getvalue() == b"ja ?"


@pytest.mark.slow
def test_commands_without_data_files_need_no_optional_library():
    program = """
import sys
sys.modules.update(dict.fromkeys(("pandas", "pyarrow", "skops")))
from fitwithin._cli import app
app(["demo", "--help"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)

    assert done.returncode == 0, done.stderr
    assert "--rows" in done.stdout
