"""Percentiles are measured values; rollovers are told from batches by the commits alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.statistics import Sample, around, inside, median, percentile, spread

FINITE = st.lists(st.floats(min_value=0, max_value=1e6), min_size=1)


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 1), (1, 1), (50, 50), (50.5, 51), (99, 99), (99.9, 100), (100, 100)]
)
def test_percentile_is_nearest_rank(percent: float, expected: float) -> None:
    assert percentile(range(1, 101), percent) == expected


def test_a_share_that_floating_point_cannot_hold_takes_no_further_value() -> None:
    assert percentile(range(1, 1001), 99.9) == 999


@given(FINITE, st.floats(min_value=0, max_value=100))
def test_percentile_is_a_value_that_enough_others_do_not_exceed(values: list[float], percent: float) -> None:
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) >= len(values) * percent / 100 - 1e-6


@given(FINITE)
def test_median_lies_between(values: list[float]) -> None:
    assert min(values) <= median(values) <= max(values)


def test_median_of_an_even_number_is_the_mean_of_the_middle() -> None:
    assert median([4, 1, 3, 2]) == 2.5


@pytest.mark.parametrize("percent", [-1, 101])
def test_percentages_are_checked(percent: float) -> None:
    with pytest.raises(ValueError, match="percentage"):
        percentile([1.0], percent)


def test_nothing_has_no_percentile_and_no_median() -> None:
    with pytest.raises(ValueError, match="at least one"):
        percentile([], 50)
    with pytest.raises(ValueError, match="at least one"):
        median([])


def run_with_pauses(*pauses: float) -> list[Sample]:
    """A message every 100 ms for 60 s; those sent in the second after a pause begins wait for its end."""
    samples = []
    for tick in range(600):
        at = tick / 10
        waits = [pause + 1.0 - at for pause in pauses if pause <= at < pause + 1.0]
        samples.append(Sample(at, max([0.002, *waits])))
    return samples


def test_a_rollover_is_the_longest_latency_around_its_commit() -> None:
    samples = run_with_pauses(20.0, 40.0)
    found = around(samples, [40.3, 20.3], before=1.5, after=3.0)
    assert [rollover.at for rollover in found] == [20.3, 40.3]
    assert [rollover.pause for rollover in found] == pytest.approx([1.0, 1.0])


def test_a_rollover_that_the_run_saw_only_a_part_of_does_not_count() -> None:
    assert around(run_with_pauses(), [0.5, 58.0, 200.0], before=1.5, after=3.0) == []


def test_inside_is_all_that_was_sent_around_no_commit() -> None:
    latencies = inside(run_with_pauses(20.0), [20.3], before=1.5, after=3.0)
    assert set(latencies) == {0.002}
    assert len(latencies) == 600 - 46  # both ends of the window belong to it


def test_a_pause_without_a_commit_is_charged_to_the_batch() -> None:
    assert max(inside(run_with_pauses(20.0), [40.0], before=1.5, after=3.0)) == pytest.approx(1.0)


def test_a_spread_is_that_of_the_middle_half() -> None:
    assert spread([5.0, -1.0, 2.0, 1.0]) == "half of 4 turns between -1.0 and 2.0"
