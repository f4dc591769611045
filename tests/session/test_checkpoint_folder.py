"""Kills, faults and readers between any two steps of writing a checkpoint."""

import errno
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from checkpoint_fits import make_fit_state
from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import UserInputError
from fitwithin._session.checkpoint import open_checkpoint
from fitwithin._session.checkpoint_folder import STATE_FILE, CheckpointPath, read_checkpoint
from fitwithin._session.fit_state import ModelRecord
from fitwithin.backends._inline import InlineModel
from fitwithin.testing import FakeClock
from sample_fits import a_round

N_STATES = 3
FINGERPRINT = {"rows of X": "100"}
WRITING = os.O_WRONLY | os.O_RDWR
FILE_EVENTS = ("open", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.truncate")


def make_state(number):
    """Return a state after some rounds, every second with a new best model."""
    n_best = max(1, number - number % 2)
    record = ModelRecord(n_best, 10 * n_best, np.arange(10 * n_best))
    return make_fit_state(record, [a_round(i) for i in range(1, number + 1)])


def make_model(number):
    """Return a model that predicts its number."""
    return InlineModel(DecisionTreeClassifier().fit([[0.0], [1.0]], [number, number]))


def write_states(path, on_write=lambda number: None, *, last=N_STATES):
    """Write the states up to the last one, as a fit does that begins or goes on; return the messages."""
    clock = FakeClock()
    with open_checkpoint(CheckpointPath(path, {"card.json": b"{}"}), Budget(1000, clock=clock)) as checkpoint:
        past = checkpoint.begin(FINGERPRINT, {}, [])
        for number in range(1 if past is None else len(past.history), last + 1):
            state = make_state(number)
            checkpoint.write(state, make_model(state.best.number), is_last=number == last)
            clock.advance(10.0)
            on_write(number)
    return checkpoint.messages


def run_with_fault(path, number, fault, connection):
    """In a process of its own, write all states, with a fault at one operation on a file of the checkpoint."""
    n_events = 0

    def watch(event, arguments):
        nonlocal n_events, number
        if event in FILE_EVENTS and str(path) in str(arguments[0]) and "fitwithin.lock" not in str(arguments[0]):
            is_write = event in ("os.mkdir", "os.rename") or (event == "open" and arguments[2] & WRITING)
            n_events += fault == "kill" or bool(is_write)
            if n_events != number or not (fault == "kill" or is_write):
                return
            if fault == "full disk":
                raise OSError(errno.ENOSPC, "No space left on device")
            if fault == "torn write" and event == "open":
                number = 0
                with open(arguments[0], "wb") as file:
                    file.write(b"half")
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(watch)
        messages = write_states(path, lambda number: connection.send(number))
        connection.send((n_events, messages))
    except UserInputError:
        connection.send((n_events, ["refused"]))
    except BaseException:
        connection.send(traceback.format_exc())
    connection.close()


def run_faulty_process(path, number, fault):
    """Return what a process that meets a fault reported: the states that it had written, and perhaps its end."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=run_with_fault, args=(path, number, fault, sender))
    process.start()
    sender.close()
    reports = []
    try:
        while True:
            reports.append(receiver.recv())
    except EOFError:
        process.join()
    return reports


def check_content(path, least_number):
    """Check that a checkpoint holds one of the states completely, and its model or an older one."""
    state = read_checkpoint(path, ()).state
    number = len(state.history)
    expected = make_state(number)
    assert number >= least_number
    np.testing.assert_array_equal(state.marks, expected.marks)
    np.testing.assert_array_equal(state.best.rows, expected.best.rows)
    np.testing.assert_array_equal(state.validation_rows, expected.validation_rows)
    assert state.model_record.number <= state.best.number
    assert state.model.predict([[0.0]])[0] == state.model_record.number


def list_unnamed(path):
    named = json.loads((path / STATE_FILE).read_text())["files"].values()
    return set(os.listdir(path)) - {"fitwithin.lock", STATE_FILE, "card.json", *named}


def make_folders(folder, n_before, fault):
    """Yield a number of an operation and a checkpoint with some states, for each operation of a fit that goes on."""
    write_states(folder / "begun", last=n_before)
    shutil.copytree(folder / "begun", folder / "counted")
    (*_, (n_operations, messages)) = run_faulty_process(folder / "counted", 0, fault)
    assert not messages
    assert n_operations > 10
    for number in range(1, n_operations + 1):
        yield number, shutil.copytree(folder / "begun", folder / f"fit{number}")


@pytest.mark.parametrize(("fault", "n_before"), [("kill", 0), ("kill", 2), ("torn write", 2)])
def test_a_kill_at_any_operation_on_a_file_loses_nothing_that_was_complete(tmp_path, fault, n_before):
    for number, path in make_folders(tmp_path, n_before, fault):
        written = run_faulty_process(path, number, fault)
        assert all(isinstance(one, int) for one in written), written
        if written or n_before:
            check_content(path, max(n_before, *written, 0))

        assert not write_states(path)
        check_content(path, N_STATES)
        assert not list_unnamed(path)


def test_a_fault_at_any_operation_on_a_file_is_one_message_and_what_was_written_stays(tmp_path):
    for number, path in make_folders(tmp_path, 0, "full disk"):
        *written, end = run_faulty_process(path, number, "full disk")
        assert isinstance(end, tuple), end
        messages = end[1]
        assert len(messages) <= 1
        if messages != ["refused"]:
            assert written == list(range(1, N_STATES + 1))
            # The last state may be the one that could not be written.
            check_content(path, N_STATES - 1 if messages else N_STATES)

        assert not write_states(path)
        check_content(path, N_STATES)
        assert not list_unnamed(path)


def test_a_checkpoint_can_be_read_at_any_time_while_its_fit_runs(tmp_path):
    path, failures, is_over = tmp_path / "fit", [], threading.Event()
    write_states(path)

    def read():
        n_read = 0
        while not is_over.is_set() or not n_read:
            try:
                state = read_checkpoint(path, ()).state
                assert state.model.predict([[0.0]])[0] == state.model_record.number
                n_read += 1
            except BaseException:
                failures.append(traceback.format_exc())
                return

    # One thread: Python below 3.11.8 fails if two parse literals (`ast`) side by side.
    reader = threading.Thread(target=read)
    reader.start()
    with open_checkpoint(path, Budget(1000)) as checkpoint:
        checkpoint.begin(FINGERPRINT, {}, [])
        for number in range(5, 60):
            state = make_state(2 + number % 6)
            checkpoint._stored = None
            checkpoint.write(state, make_model(state.best.number), is_last=True)
    is_over.set()
    reader.join()

    assert not failures


HOLD = """
import sys
from fitwithin._core.budget import Budget
from fitwithin._session.checkpoint import open_checkpoint
with open_checkpoint(sys.argv[1], Budget(60)):
    print("open", flush=True)
    input()
"""


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path):
    path = tmp_path / "fit"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline().strip() == "open"
        with pytest.raises(UserInputError, match="Another fit is using the checkpoint"):
            write_states(path)
        holder.kill()
        holder.wait()

    write_states(path)
    check_content(path, N_STATES)
