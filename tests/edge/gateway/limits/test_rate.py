"""Rates: what windows allow, and never more, whatever the clock does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.gateway.limits.rate import Rate, Window, parse_windows, take


def test_how_it_is_written() -> None:
    assert parse_windows("10:1,300:60") == (Window(10, 1), Window(300, 60))
    assert parse_windows(" 1:2 , ") == (Window(1, 2),)
    assert parse_windows("") == ()


@pytest.mark.parametrize(
    "text", ["10", "10:", ":1", "0:1", "1:0", "-1:1", "1.5:1", "1:1:1", "1:1;2:2", "٣:1"]
)
def test_what_is_no_rate_says_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match="write count:seconds, such as 10:1,300:60"):
        parse_windows(text)


def test_all_windows_have_to_allow_it() -> None:
    rate = Rate(parse_windows("2:1,3:60"))
    assert [take([rate], 5.0) for _ in range(3)] == [True, True, False]
    assert rate.wait(5.0) == pytest.approx(0.5, abs=1e-5)
    assert [take([rate], 6.0) for _ in range(2)] == [True, False]
    assert rate.wait(6.0) == pytest.approx(19.0, abs=1e-5)  # the fourth of three in a minute
    assert take([rate], 25.001)


def test_several_rates_give_all_or_nothing() -> None:
    wide, narrow = Rate([Window(2, 1)]), Rate([Window(1, 1)])
    assert take([wide, narrow], 0.0)
    assert not take([wide, narrow], 0.0)
    assert take([wide], 0.0)  # what the other refused cost it nothing


def test_what_went_without_asking_is_waited_for() -> None:
    rate = Rate([Window(10, 1)])
    for _ in range(30):
        rate.spend(0.0)
    assert not rate.allows(1.9)
    assert rate.wait(0.0) == pytest.approx(2.1, abs=1e-5)
    assert rate.allows(2.11)


def test_no_windows_allow_everything() -> None:
    rate = Rate(())
    assert all(take([rate], 0.0) for _ in range(1_000))


windows = st.builds(Window, st.integers(1, 50), st.integers(1, 60))
gaps = st.lists(st.floats(0, 20) | st.just(0.0), min_size=1, max_size=200)


@given(st.lists(windows, min_size=1, max_size=3), gaps, st.floats(0, 1e7))
def test_in_no_time_more_than_a_window_allows(allowed: list[Window], gaps: list[float], start: float) -> None:
    rate, now = Rate(allowed), start
    went: list[float] = []
    for gap in gaps:
        now += gap
        if take([rate], now):
            went.append(now)
    for window in allowed:
        for first, begin in enumerate(went):
            for last, end in enumerate(went[first:], first):
                most = window.count + window.count * (end - begin) / window.seconds
                assert last - first + 1 <= most + 0.01


@given(st.lists(windows, min_size=1, max_size=3), gaps, st.floats(0, 1e7))
def test_the_wait_is_what_it_says_and_no_longer(
    allowed: list[Window], gaps: list[float], start: float
) -> None:
    rate, now = Rate(allowed), start
    for gap in gaps:
        now += gap
        wait = rate.wait(now)
        assert (wait == 0) == rate.allows(now)
        assert 0 <= wait <= max(window.step for window in allowed) + 0.001
        if wait > 0.001:
            assert not rate.allows(now + wait - 0.001)
        now += wait + (0.0001 if wait else 0)
        assert take([rate], now)


@given(windows)
def test_who_has_done_nothing_for_a_window_may_do_all_of_it(window: Window) -> None:
    rate = Rate([window])
    for start in (0.0, 1e6, 1e6 + window.seconds):
        assert sum(take([rate], start) for _ in range(window.count + 1)) == window.count
