"""Figures and times in words."""

from __future__ import annotations

import pytest

from admin.words import ago, counted, duration, listed, moment, rate, size


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "less than a second"),
        (1, "1 second"),
        (59, "59 seconds"),
        (300, "5 minutes"),
        (330, "5 minutes"),
        (3_900, "1 hour 5 minutes"),
        (36_300, "10 hours"),
        (90_000, "1 day 1 hour"),
        (604_800, "7 days"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_moments() -> None:
    assert moment(0) == "1970-01-01 00:00:00 UTC"
    assert moment(None) == ""
    assert ago(1_000, 61_000) == "1 minute ago"
    assert ago(61_000, 1_000) == "in 1 minute"
    assert ago(1_000, 1_200) == "now"
    assert ago(None, 1) == "never"


def test_figures() -> None:
    assert counted(1, "message") == "1 message"
    assert counted(1_234, "message") == "1,234 messages"
    assert counted(2, "entry", "entries") == "2 entries"
    assert [size(0), size(1_023), size(1_536), size(200 * 1024), size(5 * 1024**3)] == [
        "0 B",
        "1,023 B",
        "1.5 KiB",
        "200 KiB",
        "5.0 GiB",
    ]
    assert [rate(0), rate(0.24), rate(812.4)] == ["0", "0.2", "812"]
    assert [listed([]), listed(["a"]), listed(["a", "b", "c"])] == ["", "a", "a, b and c"]
