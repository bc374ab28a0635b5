"""Which clients' records are on their way into a log, and who waits until they are there.

In the subscription log, what depends on where a client's subscriptions lead waits. A client that comes back to another
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
        self.add(client_id)

        def under_way_no_more(error: KafkaError | None, message: Message) -> None:
            durable(error, message)
            self.done(client_id)

        return under_way_no_more

    def add(self, client_id: str) -> None:
        """One more is to be appended; `done` follows."""
        self._count[client_id] += 1

    def when_none(self, client_id: str, settled: Callable[[], None]) -> None:
        """Call back, once, when no record of a client is under way; at once if none is."""
        if client_id in self._count:
            self._waiting.setdefault(client_id, []).append(settled)
        else:
            settled()

    def done(self, client_id: str, count: int = 1) -> None:
        """So many of a client are under way no more."""
        self._count[client_id] -= count
        if not self._count[client_id]:
            del self._count[client_id]
            for settled in self._waiting.pop(client_id, ()):
                settled()
