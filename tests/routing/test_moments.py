"""Moments: what can be said, and to which offsets it leads on a real log."""

from __future__ import annotations

import pytest

from routing.errors import MomentError
from routing.moments import LATEST, Moment, encode_offsets
from routing.routes.kafka import RouteLog
from tests.routing.broker import Broker


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("latest", Moment(end=LATEST)),
        ("1764410400000", Moment(at_ms=1764410400000)),
        ("2025-11-29T10:00:00Z", Moment(at_ms=1764410400000)),
        ("2025-11-29T11:00:00.5+01:00", Moment(at_ms=1764410400500)),
        ('{"1": 4, "0": 3}', Moment(offsets=((0, 3), (1, 4)))),
    ],
)
def test_what_can_be_said(text: str, moment: Moment) -> None:
    assert Moment.parse(text) == moment


@pytest.mark.parametrize(
    "text", ["", "now", "-1", "{}", '{"0": -1}', '{"0": "x"}', '{"0"', "2025-13-01T00:00Z"]
)
def test_what_is_no_moment_is_told(text: str) -> None:
    with pytest.raises(MomentError, match="write earliest"):
        Moment.parse(text)


def test_a_time_needs_its_zone() -> None:
    with pytest.raises(MomentError, match="time zone"):
        Moment.parse("2025-11-29T10:00:00")


@pytest.mark.live
def test_moments_of_a_log(broker: Broker) -> None:
    name = broker.topics.publishes
    for at_ms in (1_000_000, 2_000_000, 3_000_000):
        broker.producer.produce(name, b"", b"k", partition=0, timestamp=at_ms)
    broker.flush()
    log = RouteLog(broker.bootstrap, name)

    def offsets(text: str) -> dict[int, int]:
        return Moment.parse(text).resolve(log)

    assert offsets("earliest") == {0: 0, 1: 0}
    assert offsets("latest") == {0: 3, 1: 0}
    assert offsets("2000000") == {0: 1, 1: 0}
    assert offsets("2000001") == {0: 2, 1: 0}
    assert offsets("9000000") == {0: 3, 1: 0}
    assert offsets(encode_offsets({0: 2, 1: 0})) == {0: 2, 1: 0}
    with pytest.raises(MomentError, match="for each of them"):
        offsets('{"0": 1}')
    with pytest.raises(MomentError, match="ends at 3"):
        offsets('{"0": 4, "1": 0}')
