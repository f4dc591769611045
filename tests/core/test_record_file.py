"""Files of checked records."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin._core.record_file import DamagedFile, NewerVersion, OtherKind, Record, RecordFile

VALUES = st.dictionaries(st.text(max_size=5), st.one_of(st.integers(-9, 9), st.text(max_size=5), st.none()), max_size=3)
PARTS = st.dictionaries(st.text(max_size=5), st.binary(max_size=50), max_size=3)
RECORDS = st.lists(st.builds(Record, st.sampled_from([b"ABCD", b"EFGH"]), VALUES, PARTS), min_size=1, max_size=4)


def read_all(file):
    found = []
    for position in file.positions():
        assert file.is_intact(position)
        values, parts = file.read(position)
        found.append((position.kind, values, {name: file.read_part(part) for name, part in parts.items()}))
    return found


def contents(records):
    return [(record.kind, record.values, dict(record.parts)) for record in records]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("records") / "a"


@settings(deadline=None, max_examples=50)
@given(first=RECORDS, more=RECORDS, slot=st.floats(0, 1e9))
def test_records_come_back_as_they_were_written(path, first, more, slot):
    file = RecordFile(path, "example", 1)
    file.replace(first, slot)
    for record in more:
        file.append(record)

    assert read_all(file) == contents([*first, *more])
    assert file.read_slot() == pytest.approx(slot, abs=1e-6)


@settings(deadline=None, max_examples=50)
@given(records=RECORDS, cut=st.integers(1, 60))
def test_a_torn_end_is_ignored_and_written_over(path, records, cut):
    file = RecordFile(path, "example", 1)
    last = Record(b"LAST", {}, {"x": bytes(100)})
    file.replace([*records, last], 0.0)
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_all(file) == contents(records)

    file.append(last)

    assert read_all(file) == contents([*records, last])


def test_a_record_of_the_old_file_is_copied_to_the_new_one(path):
    file = RecordFile(path, "example", 1)
    file.replace([Record(b"AAAA", {"n": 1}, {"x": b"123"}), Record(b"BBBB", {}, {})], 0.0)
    kept = next(file.positions())

    file.replace([Record(b"CCCC", {}, {}), kept], 1.0)

    assert read_all(file) == [(b"CCCC", {}, {}), (b"AAAA", {"n": 1}, {"x": b"123"})]


def test_a_part_may_be_a_file(path, tmp_path):
    (tmp_path / "part").write_bytes(b"abc" * 1_000_000)
    file = RecordFile(path, "example", 1)
    file.replace([Record(b"AAAA", {}, {"x": tmp_path / "part"})], 0.0)
    _, parts = file.read(next(file.positions()))

    file.extract_part(parts["x"], tmp_path / "copy")

    assert (tmp_path / "copy").read_bytes() == b"abc" * 1_000_000


def test_a_flipped_bit_is_noticed(path):
    file = RecordFile(path, "example", 1)
    file.replace([Record(b"AAAA", {}, {"x": b"abc"})], 0.0)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    assert not file.is_intact(next(file.positions()))


def test_a_damaged_slot_counts_as_zero(path):
    file = RecordFile(path, "example", 1)
    file.replace([], 5.0)
    path.write_bytes(path.read_bytes().replace(b"5.000000", b"9.000000"))

    assert file.read_slot() == 0.0


def test_the_slot_is_overwritten_in_place(path):
    file = RecordFile(path, "example", 1)
    file.replace([Record(b"AAAA", {"n": 1}, {})], 5.0)

    file.write_slot(123456.75)

    assert file.read_slot() == 123456.75
    assert read_all(file) == [(b"AAAA", {"n": 1}, {})]


@pytest.mark.parametrize(
    ("line", "error"),
    [(b"another 1\n", OtherKind), (b"example 2\n", NewerVersion), (b"", OtherKind), (b"example x\n", OtherKind)],
)
def test_another_kind_or_version_is_told_apart(path, line, error):
    path.write_bytes(line)

    with pytest.raises(error):
        list(RecordFile(path, "example", 1).positions())


def test_sizes_are_checked_before_anything_is_read(path):
    file = RecordFile(path, "example", 1)
    file.replace([Record(b"AAAA", {}, {"x": b"abc"})], 0.0)
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"x": 3', b'"x": 9'))
    with pytest.raises(DamagedFile, match="no valid size"):
        file.read(next(file.positions()))

    position = next(file.positions())
    path.write_bytes(content[: position.start] + b"\xff\xff\xff\xff" + content[position.start + 4 :])
    with pytest.raises(DamagedFile, match="too long"):
        file.read(next(file.positions()))
