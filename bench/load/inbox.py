"""A subscriber's side of a load: messages of one length as they come, each acknowledged at QoS 1, counted and timed."""

from __future__ import annotations

import asyncio
import time

from bench.load.client import CONNACK_BYTES, RawClient, connect_bytes, is_accepted, publish_bytes


class Inbox:
    """Takes apart what one connection reads; all messages have topics of one length and payloads of one length."""

    def __init__(self, topic: str, payload: int, expected: int) -> None:
        """Wait for so many messages like this one."""
        self._frame = len(publish_bytes(topic, bytes(payload), 1, 1))
        self._identifier = self._frame - payload - 2
        self._expected = expected
        self._rest = b""
        self._is_accepted = False
        self.count = 0
        self.first_at = 0.0
        """When the first came, in seconds of the monotonic clock; `last_at` likewise."""
        self.last_at = 0.0
        self.complete: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when all have come; fails when the broker turns the client away."""
        self.accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the CONNACK has come."""
        self.client = RawClient(self.take)

    async def connect(self, host: str, port: int, client_id: str) -> None:
        """Connect with a session that outlives the connection. What it is owed may come behind the CONNACK at once."""
        self.client.hand_over()
        await asyncio.get_running_loop().create_connection(lambda: self.client, host, port)
        self.client.write(connect_bytes(client_id, clean=False))
        await asyncio.wait_for(asyncio.shield(self.accepted), 30.0)

    def take(self, data: memoryview) -> None:
        """Take what was read, and acknowledge each message."""
        now = time.monotonic()
        whole = self._rest + bytes(data)
        if not self._is_accepted:
            if len(whole) < CONNACK_BYTES:
                self._rest = whole
                return
            if not is_accepted(whole[:CONNACK_BYTES]):
                self.accepted.set_exception(ConnectionRefusedError(f"the broker refused: {whole[:4].hex()}"))
                return
            whole = whole[CONNACK_BYTES:]
            self._is_accepted = True
            self.accepted.set_result(None)
        frame, identifier = self._frame, self._identifier
        end = len(whole) - len(whole) % frame
        if end:
            self._note(end // frame, now)
            places = range(identifier, end, frame)
            self.client.write(b"".join([b"\x40\x02" + whole[place : place + 2] for place in places]))
        self._rest = whole[end:]

    def _note(self, count: int, now: float) -> None:
        if not self.count:
            self.first_at = now
        self.count += count
        self.last_at = now
        if self.count >= self._expected and not self.complete.done():
            self.complete.set_result(None)
