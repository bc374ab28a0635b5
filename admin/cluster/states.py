"""What gateways and the router have said of themselves last, and who is silent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from admin.clients.writing import Writer
from admin.errors import KafkaUnavailableError
from contracts import state_record
from contracts.errors import RecordError
from contracts.state_record import GatewayState, RouterState, silent_after
from edge.gateway.kafka_clients import consumer_config
from telemetry.librdkafka import TOLD

LIVING, SILENT, STOPPED = "living", "silent", "stopped"
_POLL_SECONDS = 0.5  # how long stopping may take
_FIRST_LOOK_SECONDS = 15.0
"""For all that Kafka has of it to be read; some thousand records."""
GONE = "Kafka does not answer: check that it runs, and the address"
"""As trouble: none of its brokers can be reached."""


@dataclass(frozen=True)
class Seen:
    """A part's newest record, and how long ago it came."""

    state: GatewayState | RouterState
    seconds_ago: float

    @property
    def life(self) -> str:
        """`LIVING`, `SILENT` or `STOPPED`."""
        state = self.state
        if state.is_stopped if isinstance(state, GatewayState) else state.state in ("stopped", "failed"):
            return STOPPED
        return SILENT if self.seconds_ago > silent_after(state) else LIVING


@dataclass
class StateView:
    """The newest record of each part; pure but for the two clocks.

    A record that comes while one looks has just been written, whatever the clock of its writer says. Of one that was
    there before only its time tells how old it is.
    """

    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time
    _found: dict[bytes, tuple[GatewayState | RouterState, float]] = field(default_factory=dict)

    def take(self, key: bytes | None, value: bytes | None, *, is_new: bool) -> None:
        """Take in a record; one that is not of the documented form is passed over."""
        if value is None:
            self._found.pop(key or b"", None)
            return
        try:
            state = state_record.decode(key, value)
        except RecordError:
            return
        age = 0.0 if is_new else max(0.0, self.wall_clock() - state.at_ms / 1000)
        self._found[key or b""] = state, self.clock() - age

    def gateways(self) -> list[tuple[GatewayState, Seen]]:
        """All gateways, by node id."""
        found = [(state, self._seen(state, at)) for state, at in list(self._found.values())
                 if isinstance(state, GatewayState)]  # fmt: skip
        return sorted(found, key=lambda pair: pair[0].node)

    def router(self) -> tuple[RouterState, Seen] | None:
        """The router; None where none has ever said anything."""
        state, at = self._found.get(state_record.ROUTER_KEY, (None, 0.0))
        return (state, self._seen(state, at)) if isinstance(state, RouterState) else None

    def _seen(self, state: GatewayState | RouterState, at: float) -> Seen:
        return Seen(state, max(0.0, self.clock() - at))


class States(Protocol):
    """Where a cluster's states come from (`StateReader`)."""

    view: StateView
    trouble: str | None
    """Why nothing comes from Kafka; None while it answers."""

    def wait(self) -> bool:
        """Wait until all that there was at first is read; False if that takes long."""
        ...

    def forget(self, key: bytes) -> None:
        """Take a part off the list; KafkaUnavailableError where Kafka does not take that."""
        ...

    def close(self) -> None:
        """Read no more."""
        ...


class StateReader:
    """Reads `tbmq.sys.state` in a thread, from its beginning, for as long as it is open."""

    def __init__(self, kafka: str, topic: str) -> None:
        """Begin to read.

        Args:
            kafka: Bootstrap servers.
            topic: The Kafka topic.
        """
        self.view = StateView()
        self.trouble: str | None = None
        self._writer = Writer(kafka)
        self._topic = topic
        self._first_look = threading.Event()
        self._patient_until = time.monotonic() + _FIRST_LOOK_SECONDS
        self._is_closing = threading.Event()
        self._consumer = Consumer(
            consumer_config(kafka) | TOLD | {"enable.partition.eof": True, "error_cb": self._failed}
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._thread = threading.Thread(target=self._run, name="states", daemon=True)
        self._thread.start()

    def wait(self) -> bool:
        """See `States`."""
        # Not from when it is asked: while Kafka is away, those who ask every other second must not pile up here.
        return self._first_look.wait(max(0.0, self._patient_until - time.monotonic()))

    def forget(self, key: bytes) -> None:
        """Write the tombstone of a part; returns when Kafka has it.

        Raises:
            KafkaUnavailableError: It does not take it.
        """
        try:
            self._writer.write(self._topic, key, None)
        except KafkaException as error:
            raise KafkaUnavailableError(
                f"Kafka did not take it off the list ({error.args[0].str()}): try again."
            ) from error
        self.view.take(key, None, is_new=True)

    def close(self) -> None:
        """Read no more."""
        self._is_closing.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._is_closing.is_set():
            message = self._consumer.poll(_POLL_SECONDS)
            if message is None:
                continue
            error = message.error()
            if error is None:
                self.trouble = None
                self.view.take(message.key(), message.value(), is_new=self._first_look.is_set())
            elif error.code() == KafkaError._PARTITION_EOF:
                self.trouble = None
                self._first_look.set()
            else:
                self.trouble = self._told(error)

    def _told(self, error: KafkaError) -> str:
        if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            return f"Kafka has no topic {self._topic}: run `sluicemq topics create`"
        return f"Kafka does not give {self._topic}: {error.str()}"

    def _failed(self, error: KafkaError) -> None:
        # What concerns no partition, librdkafka tells here alone.
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self.trouble = GONE
