"""Tells of the router in `tbmq.sys.state`, every few seconds and when something has happened.

In a thread of its own: a rollover may take a minute, and a router that says nothing counts as gone. Nothing depends on
these records; while Kafka does not take them they are dropped.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from contracts import state_record
from contracts.state_record import RouterState
from contracts.wall_clock import epoch_ms
from routing.supervision import Supervisor
from telemetry.librdkafka import QUIET

INTERVAL_SECONDS = 5.0
_SECONDS_TO_TAKE = 10.0
"""For Kafka to take a record; then the next one is tried."""

_log = logging.getLogger(__name__)


class Telling:
    """Writes what `describe` says."""

    def __init__(
        self, kafka: str, topic: str, describe: Callable[[], RouterState], changed: threading.Event
    ) -> None:
        """Prepare to tell.

        Args:
            kafka: Bootstrap servers.
            topic: `tbmq.sys.state`.
            describe: Tells the state as of now; called in another thread.
            changed: Set when it has changed.
        """
        self._topic = topic
        self._describe = describe
        self._changed = changed
        self._stopping = threading.Event()
        self._is_refused = False
        self._producer = Producer(
            QUIET
            | {
                "bootstrap.servers": kafka,
                "acks": "all",
                "message.timeout.ms": round(1000 * _SECONDS_TO_TAKE),
            }
        )
        self._thread = threading.Thread(target=self._run, name="telling", daemon=True)

    def start(self) -> None:
        """Tell now, and go on."""
        self._thread.start()

    def stop(self) -> None:
        """Tell the last state, and no more; nothing where nothing was told."""
        if not self._thread.is_alive():
            return
        self._stopping.set()
        self._changed.set()
        self._thread.join()
        self._tell()
        self._producer.flush(_SECONDS_TO_TAKE)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._changed.clear()
            self._tell()
            self._producer.poll(0)
            self._changed.wait(INTERVAL_SECONDS)

    def _tell(self) -> None:
        key, value = state_record.encode(self._describe())
        try:
            self._producer.produce(self._topic, value, key, on_delivery=self._told)
        except (BufferError, KafkaException) as error:
            _log.debug("the router's state could not be written: %s", error)

    def _told(self, error: KafkaError | None, _: Message) -> None:
        if error is not None and not self._is_refused:
            _log.warning("Kafka does not take the router's state for %s: %s", self._topic, error.str())
        self._is_refused = error is not None


def describe(supervisor: Supervisor, trigger: str) -> Callable[[], RouterState]:
    """What is told of this life of the router: a function that says how it is at the moment."""
    boot, started_at_ms, installed = uuid.uuid4().hex, epoch_ms(), _version()

    def state() -> RouterState:
        plan, chronicle = supervisor.plan, supervisor.chronicle
        routed = plan.generation.offsets if not chronicle.routed else chronicle.routed
        return RouterState(
            at_ms=epoch_ms(),
            interval_s=INTERVAL_SECONDS,
            boot=boot,
            started_at_ms=started_at_ms,
            state=chronicle.state,
            version=installed,
            trigger=trigger,
            rollover_seconds=supervisor.rollover_seconds,
            generation=plan.generation.number,
            generation_started_at_ms=chronicle.generation_started_at_ms,
            rollovers=chronicle.rollovers,
            postponed_rollovers=chronicle.postponed_rollovers,
            last_rollover_ms=chronicle.last_rollover_ms,
            restarts=chronicle.restarts,
            last_failure=chronicle.last_failure,
            quarantine=tuple(sorted(plan.quarantine)),
            missing=tuple(sorted(supervisor.missing)),
            shapes=len(plan.shapes),
            routed=tuple(offset for _, offset in sorted((routed or {}).items())),
        )

    return state


def _version() -> str:
    try:
        return version("sluicemq")
    except PackageNotFoundError:
        return "unknown"  # run from a folder that nobody installed
