"""The receiver takes frames apart however they are cut, acknowledges each, and tells repeats and disorder."""

from __future__ import annotations

import pytest

from bench.load.client import RawClient, publish_bytes
from bench.load.latency import LatencyLoad, Receiver, topic_of

LOAD = LatencyLoad("127.0.0.1", 1, 1, 1.0, topics=4, payload=16)


def frame(number: int) -> bytes:
    payload = number.to_bytes(8, "big") + bytes(8)
    return publish_bytes(topic_of(number % 4), payload, 1, number + 1)


class Recorder(RawClient):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_frames_are_found_however_they_are_cut(size: int) -> None:
    receiver, client = Receiver(LOAD), Recorder()
    receiver.client = client
    data = b"".join(map(frame, range(10)))
    for start in range(0, len(data), size):
        receiver.take(memoryview(data[start : start + size]))
    assert sorted(receiver.arrived) == list(range(10))
    assert client.written == b"".join(bytes((0x40, 2, 0, number + 1)) for number in range(10))
    assert (receiver.repeated, receiver.disordered) == (0, 0)


def test_repeats_and_disorder_are_counted_by_topic() -> None:
    receiver = Receiver(LOAD)
    for number in (0, 5, 4, 1, 5):  # 4 follows 0 on its topic; 1 comes after 5, and 5 comes twice
        receiver.take(memoryview(frame(number)))
    assert (receiver.repeated, receiver.disordered) == (1, 1)
