"""Writes what became of a client's messages into `tbmq.msg.persisted`, beside the messages.

What several packets of one turn of the event loop say of one client becomes one record.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from confluent_kafka import KafkaError, Message

from contracts import persisted_record
from contracts.headers import Headers
from contracts.persisted_record import EventKind
from edge.gateway.appender import Appender
from edge.gateway.records_under_way import RecordsUnderWay

log = logging.getLogger(__name__)


class Acknowledgements:
    """Events about persistent clients' messages, on their way into the log."""

    def __init__(self, topic: str, appender: Appender) -> None:
        self._topic = topic
        self._appender = appender
        self._loop = asyncio.get_running_loop()
        self._acked: dict[str, list[int]] = {}
        self._received: dict[str, list[tuple[int, Callable[[], None]]]] = {}
        self._is_due = False
        self._under_way = RecordsUnderWay()

    def acked(self, client_id: str, offset: int) -> None:
        """A message is done with. If this gets lost with the gateway, the client is asked once more."""
        self._acked.setdefault(client_id, []).append(offset)
        self._flush_soon(client_id)

    def received(self, client_id: str, offset: int, durable: Callable[[], None]) -> None:
        """PUBREC came; `durable` is called when that can get lost no more, and PUBREL may go out (I5)."""
        self._received.setdefault(client_id, []).append((offset, durable))
        self._flush_soon(client_id)

    def when_settled(self, client_id: str, settled: Callable[[], None]) -> None:
        """Call back, once, when Kafka has all that was told of a client; at once if it has."""
        self._under_way.when_none(client_id, settled)

    def _flush_soon(self, client_id: str) -> None:
        self._under_way.add(client_id)
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_due = False
        received, self._received = self._received, {}
        acked, self._acked = self._acked, {}
        for client_id, marks in received.items():
            offsets = [offset for offset, _ in marks]
            self._append(client_id, EventKind.RECEIVED, offsets, [durable for _, durable in marks])
        for client_id, offsets in acked.items():
            self._append(client_id, EventKind.ACKED, offsets, [])

    def _append(
        self, client_id: str, kind: EventKind, offsets: list[int], callbacks: list[Callable[[], None]]
    ) -> None:
        value, headers = persisted_record.encode_event(kind, offsets)
        key = persisted_record.encode_key(client_id)

        def durable(error: KafkaError | None, _: Message) -> None:
            if error is not None:  # Then it is as if this gateway had died: the client is asked once more.
                log.warning(
                    "%s of %s was not written: %s", kind, client_id, error, extra={"client": client_id}
                )
            else:
                for callback in callbacks:
                    callback()
            self._under_way.done(client_id, len(offsets))

        self._put(value, key, headers, durable)

    def _put(
        self,
        value: bytes,
        key: bytes,
        headers: Headers,
        durable: Callable[[KafkaError | None, Message], None],
    ) -> None:
        try:
            self._appender.append(self._topic, value, key, headers, durable)
        except BufferError:
            self._appender.when_room(lambda: self._put(value, key, headers, durable))
