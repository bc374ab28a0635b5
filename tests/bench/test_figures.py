"""A figure says whether its target is met, and how it compares, only where something was measured."""

from __future__ import annotations

import pytest

from bench.figures import Figure, at_least, at_most, number


def test_targets_include_their_limit() -> None:
    assert at_most(6).is_met(6)
    assert not at_most(6).is_met(6.01)
    assert at_least(40_000).is_met(40_000)
    assert not at_least(40_000).is_met(39_999)


def test_a_target_reads_as_it_is_written() -> None:
    assert at_least(40_000).text == "≥ 40,000"
    assert at_most(0.5).text == "≤ 0.50"


def test_without_target_or_value_nothing_is_met() -> None:
    assert Figure("a", 1.0, "s").is_met is None
    assert Figure("a", None, "s", at_most(1)).is_met is None
    assert Figure("a", 1.0, "s", at_most(1)).is_met


def test_ratio_is_ours_divided_by_theirs() -> None:
    figure = Figure("a", 30.0, "s", peers={"slow": 10.0, "missing": None, "idle": 0.0})
    assert figure.ratio("slow") == 3.0
    assert figure.ratio("missing") is None
    assert figure.ratio("idle") is None
    assert figure.ratio("unheard of") is None


def test_what_is_below_zero_has_no_ratio() -> None:
    assert Figure("a", -3.0, "%", peers={"other": 1.5}).ratio("other") is None
    assert Figure("a", 3.0, "%", peers={"other": -1.5}).ratio("other") is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (0.1234, "0.12"), (1.5, "1.50"), (12.34, "12.3"), (123.4, "123"), (98_765.4, "98,765")],
)
def test_numbers_show_what_matters(value: float, shown: str) -> None:
    assert number(value) == shown
