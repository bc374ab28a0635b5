"""A recording tells what was done between any two times within it."""

from __future__ import annotations

import pytest

from bench.load.recording import Moment, Recording, between

MOMENTS: list[Moment] = [
    (10.0, 100, {"gw": 0.0, "generator": 0.0}),
    (11.0, 300, {"gw": 0.5, "generator": 0.1}),
    (13.0, 400, {"gw": 0.7, "generator": 0.5}),
]


def test_between_two_moments_and_between_those_that_were_not_noted() -> None:
    assert between(MOMENTS, 10.0, 13.0) == {
        "messages": 300, "seconds": 3.0, "cpu": {"gw": 0.7, "generator": 0.5},
    }  # fmt: skip
    found = between(MOMENTS, 10.5, 12.0)
    assert found["messages"] == pytest.approx(350 - 200)
    assert found["cpu"] == pytest.approx({"gw": 0.6 - 0.25, "generator": 0.3 - 0.05})


@pytest.mark.parametrize(("since", "until"), [(9.0, 12.0), (12.0, 13.1), (12.0, 11.0), (11.0, 11.0)])
def test_what_is_not_within_it_is_not_known(since: float, until: float) -> None:
    with pytest.raises(ValueError, match="not recorded"):
        between(MOMENTS, since, until)


async def test_it_counts_from_the_moment_it_is_made() -> None:
    done = iter(range(7, 10_000))
    recording = Recording({}, lambda: next(done))
    await recording.go_on(0.25)
    assert recording.moments[0][1] == 7
    assert recording.seconds >= 0.25
    assert recording.measured()["messages"] == len(recording.moments) - 1
    assert recording.measured()["seconds"] == recording.seconds
    assert set(recording.measured()["cpu"]) == {"generator"}
