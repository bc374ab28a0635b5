"""Which clients' records are on their way into the subscription log.

What depends on where a client's subscriptions lead waits until they are there. A client that comes back to another
gateway is told so only when all publishes from then on find it there (I2); and a gateway says that a connection has
ended only when nothing more comes of it, which could stand behind what the client's next gateway writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from confluent_kafka import KafkaError, Message

from edge.gateway.appender import Durable


class RecordsUnderWay:
    """Counts them by client id; those that Kafka has refused are under way no more."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._waiting: dict[str, list[Callable[[], None]]] = {}

    def begin(self, client_id: str, durable: Durable) -> Durable:
        """A record of a client is about to be appended.

        Returns:
            What to be called back by, in place of `durable`, which is called first.
        """
        self._count[client_id] += 1

        def done(error: KafkaError | None, message: Message) -> None:
            durable(error, message)
            self._done(client_id)

        return done

    def when_none(self, client_id: str, settled: Callable[[], None]) -> None:
        """Call back, once, when no record of a client is under way; at once if none is."""
        if client_id in self._count:
            self._waiting.setdefault(client_id, []).append(settled)
        else:
            settled()

    def _done(self, client_id: str) -> None:
        self._count[client_id] -= 1
        if not self._count[client_id]:
            del self._count[client_id]
            for settled in self._waiting.pop(client_id, ()):
                settled()
