"""Time limits as people write them."""

import math
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.budget import parse_time_limit


@pytest.mark.parametrize(
    ("time_limit", "seconds"),
    [
        (60, 60),
        (2.5, 2.5),
        (1e-3, 1e-3),
        (np.int64(7), 7),
        (np.float32(0.5), 0.5),
        (Fraction(1, 4), 0.25),
        (timedelta(minutes=15), 900),
        (timedelta(milliseconds=1500), 1.5),
        ("90s", 90),
        ("15m", 900),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        (" 1H30M ", 5400),
        ("1.5h", 5400),
        ("2d", 172_800),
        ("250ms", 0.25),
        ("1m250ms", 60.25),
        ("1d2h3m4s5ms", 93_784.005),
    ],
)
def test_seconds_timedeltas_and_texts_are_read(time_limit, seconds):
    assert parse_time_limit(time_limit) == pytest.approx(seconds)


def test_the_answer_is_a_plain_float():
    assert {type(parse_time_limit(limit)) for limit in (1, np.float32(1), timedelta(seconds=1), "1s")} == {float}


@pytest.mark.parametrize(
    "time_limit",
    [
        0,
        -1,
        0.0,
        -2.5,
        math.nan,
        math.inf,
        -math.inf,
        pytest.param(10**400, id="more than a float holds"),
        timedelta(0),
        timedelta(seconds=-1),
        "0s",
        "-5s",
        "1h-30m",
        "",
        " ",
        "soon",
        "10",
        "1h30",
        "1h1h",
        "h",
        "1w",
        "nan",
        "inf",
        pytest.param("9" * 400 + "s", id="a text of more than a float holds"),
        None,
        True,
        np.True_,
        1j,
        [60],
        b"60s",
        pd.NaT,
        pytest.param(np.timedelta64(5, "s"), id="a duration of numpy"),
        np.datetime64("2099-01-01"),
    ],
)
def test_a_limit_that_is_no_positive_time_is_refused(time_limit):
    with pytest.raises(ValueError, match="time_limit"):
        parse_time_limit(time_limit)


@pytest.mark.parametrize("time_limit", [-3, "soon", None, timedelta(0)])
def test_the_error_shows_what_came_and_what_is_accepted(time_limit):
    with pytest.raises(ValueError, match="time_limit") as caught:
        parse_time_limit(time_limit)

    message = str(caught.value)
    assert repr(time_limit) in message
    assert all(form in message for form in ('"90s"', '"15m"', '"1h30m"', "timedelta"))


@given(st.one_of(st.text(), st.text(alphabet="0123456789.-+ dhms"), st.floats(), st.integers()))
def test_whatever_comes_is_read_as_a_positive_finite_time_or_refused(time_limit):
    try:
        seconds = parse_time_limit(time_limit)
    except ValueError:
        return

    assert 0 < seconds < math.inf


@given(st.integers(0, 99), st.integers(0, 59), st.integers(1, 59))
def test_the_parts_of_a_text_add_up(hours, minutes, seconds):
    assert parse_time_limit(f"{hours}h{minutes}m{seconds}s") == 3600 * hours + 60 * minutes + seconds


def test_a_point_in_time_is_the_seconds_until_then():
    now = datetime(2026, 11, 18, 22, 0, tzinfo=UTC)

    assert parse_time_limit(datetime(2026, 11, 19, 6, 0, tzinfo=UTC), now) == 8 * 3600
    assert parse_time_limit(datetime(2026, 11, 19, 6, 0, tzinfo=timezone(timedelta(hours=2))), now) == 6 * 3600
    assert parse_time_limit(now.astimezone().replace(tzinfo=None) + timedelta(seconds=90), now) == 90


def test_a_limit_that_is_longer_than_any_timeout_may_be_is_95_years():
    assert parse_time_limit(sys.maxsize) == parse_time_limit(datetime.max) == 3e9


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_the_last_year_is_a_point_in_time_and_the_first_one_is_over_in_any_time_zone(monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert parse_time_limit(datetime.max) == 3e9
        with pytest.raises(ValueError, match="Give a later time"):
            parse_time_limit(datetime.min)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_timestamp_of_pandas_is_a_point_in_time():
    now = datetime(2026, 11, 18, 22, 0, tzinfo=UTC)

    assert parse_time_limit(pd.Timestamp("2026-11-19 06:00", tz="UTC"), now) == 8 * 3600
    assert parse_time_limit(pd.Timestamp(now.astimezone().replace(tzinfo=None)) + timedelta(seconds=90), now) == 90


def test_a_point_that_is_over_names_both_times():
    now = datetime(2026, 11, 18, 22, 0, tzinfo=UTC)

    with pytest.raises(ValueError, match="time_limit is 2026-11-18 21:59:00, but it is 2026-11-18 22:00:00 now"):
        parse_time_limit(datetime(2026, 11, 18, 21, 59, tzinfo=UTC), now)
