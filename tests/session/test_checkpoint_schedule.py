"""When the model of a checkpoint is written, and how much time is reserved for it."""

import threading
from dataclasses import dataclass

import pytest
from sklearn.tree import DecisionTreeClassifier

from checkpoint_fits import make_fit_state
from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied
from fitwithin._core.model_file import dump_model
from fitwithin._session.checkpoint import open_checkpoint
from fitwithin._session.checkpoint_folder import read_checkpoint
from fitwithin._session.fit_state import ModelRecord
from fitwithin.testing import FakeClock

TREE = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])


@dataclass
class FakeModel:
    """A model whose writing moves a fake clock, or ends in the background when a test says so."""

    clock: FakeClock
    write_seconds: float = 0.0
    load_seconds: float = 0.1
    dumps_in_background: bool = False
    is_discarded: bool = False

    def __post_init__(self):
        self.is_written = threading.Event()

    def dump(self, path):
        if self.is_discarded:
            raise LearnerDied
        dump_model(TREE, path)
        if not self.dumps_in_background:
            self.clock.advance(self.write_seconds)
            self.is_written.set()
        return self

    def wait(self, seconds):
        if not self.is_written.is_set():
            self.clock.advance(seconds)
        return self.is_written.is_set()

    def result(self):
        return ()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def checkpoint(tmp_path, clock):
    with open_checkpoint(tmp_path / "fit", Budget(100, clock=clock)) as checkpoint:
        checkpoint.begin({}, {}, [])
        # The thread would move the fake clock too.
        checkpoint._stopped.set()
        yield checkpoint


def write(checkpoint, number, model, **arguments):
    checkpoint.write(make_fit_state(ModelRecord(number, 10)), model, **arguments)
    record = read_checkpoint(checkpoint.path).state.model_record
    return None if record is None else record.number


def test_models_that_this_process_writes_take_a_twentieth_of_the_time(checkpoint, clock):
    assert write(checkpoint, 1, FakeModel(clock, 1.0)) == 1

    clock.advance(19.0)
    assert write(checkpoint, 2, FakeModel(clock, 1.0)) == 1
    clock.advance(1.0)
    assert write(checkpoint, 3, FakeModel(clock, 1.0)) == 3


def test_the_last_model_is_written_in_the_time_that_was_reserved_for_it(checkpoint, clock):
    write(checkpoint, 1, FakeModel(clock, 1.0))
    reserved = checkpoint.reserved_seconds(FakeModel(clock))
    assert 1.0 < reserved < 2.0

    clock.advance(99.0 - reserved - 0.1)

    assert write(checkpoint, 2, FakeModel(clock, 1.0), is_last=True) == 2
    assert not checkpoint.messages


def test_a_model_that_takes_longer_than_the_rest_of_the_time_is_not_begun(checkpoint, clock):
    write(checkpoint, 1, FakeModel(clock, 1.0))
    clock.advance(98.5)

    assert write(checkpoint, 2, FakeModel(clock, 1.0), is_last=True) == 1
    assert clock() <= 100.0


def test_nothing_is_reserved_for_a_model_that_takes_over_a_fifth_of_the_limit(checkpoint, clock):
    assert 0.0 < checkpoint.reserved_seconds(FakeModel(clock)) < checkpoint.reserved_seconds(FakeModel(clock, 0.0, 0.2))
    assert checkpoint.reserved_seconds(FakeModel(clock, 0.0, 5.0)) == 0.0


def test_a_model_that_takes_longer_to_load_takes_longer_to_write(checkpoint, clock):
    write(checkpoint, 1, FakeModel(clock, 1.0))

    larger, smaller = (checkpoint.reserved_seconds(FakeModel(clock, 0.0, load)) for load in (0.3, 0.05))

    assert larger == pytest.approx(3 * smaller)


def test_another_process_writes_the_newest_model_whenever_it_is_free(checkpoint, clock):
    first, second, third = (FakeModel(clock, dumps_in_background=True) for _ in range(3))
    assert write(checkpoint, 1, first) is None
    assert write(checkpoint, 2, second) is None
    first.is_written.set()

    assert write(checkpoint, 3, third) == 1
    third.is_written.set()
    assert write(checkpoint, 3, third) == 3


def test_writing_in_the_background_is_given_up_at_the_deadline(checkpoint, clock):
    model = FakeModel(clock, dumps_in_background=True)

    assert write(checkpoint, 1, model, is_last=True) is None
    assert clock() == pytest.approx(99.8)


def test_a_model_that_is_gone_by_now_is_no_fault(checkpoint, clock):
    gone = FakeModel(clock, dumps_in_background=True, is_discarded=True)
    assert write(checkpoint, 1, gone) is None

    assert write(checkpoint, 2, FakeModel(clock)) == 2
    assert not checkpoint.messages
