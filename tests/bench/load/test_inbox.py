"""The subscriber's side of a load, fed with bytes in every cut."""

from __future__ import annotations

import pytest

from bench.load.client import publish_bytes
from bench.load.inbox import Inbox

TOPIC, PAYLOAD = "bench/burst/0", bytes(8)
CONNACK = bytes((0x20, 2, 1, 0))
"""With a session present."""


class Written:
    """Stands for the client: keeps what it was given to write."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


def inbox(expected: int) -> tuple[Inbox, Written]:
    found, written = Inbox(TOPIC, len(PAYLOAD), expected), Written()
    found.client = written  # type: ignore[assignment] # only `write` is used
    return found, written


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 29, 1_000])
async def test_each_message_is_counted_and_acknowledged(cut: int) -> None:
    stream = CONNACK + b"".join(publish_bytes(TOPIC, PAYLOAD, 1, number) for number in (1, 2, 700))
    taking, written = inbox(3)
    for start in range(0, len(stream), cut):
        taking.take(memoryview(stream[start : start + cut]))
    assert taking.accepted.done()
    assert taking.count == 3
    assert taking.complete.done()
    assert written.data == bytes.fromhex("40020001 40020002 400202bc")


async def test_a_refusal() -> None:
    taking, _ = inbox(1)
    taking.take(memoryview(bytes((0x20, 2, 0, 5))))
    with pytest.raises(ConnectionRefusedError):
        taking.accepted.result()
