"""The dispatcher: a thread that chooses members for those partitions of `tbmq.msg.shared` that the group gave to it.

One round: poll, bring the view of members up to date (I2), decide, and commit for all partitions in one transaction.
Whatever fails, the partitions that it concerns are loaded again from what Kafka has; nothing is repaired.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from edge.gateway.counters import Counters
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.group_member import is_record, stay_member
from edge.gateway.kafka_clients import member_config
from edge.gateway.shares.backlogs import Backlogs
from edge.gateway.shares.commits import Commits, MembersChangedError
from edge.gateway.shares.dispatch import (
    Deliver,
    Dispatch,
    Park,
    SharedMessage,
    Write,
    is_abandoned,
    portions_of,
    receiver,
)
from edge.gateway.shares.partition import DispatchedPartition
from edge.gateway.shares.strategies import Strategies
from edge.gateway.shares.view import ShareView
from edge.gateway.state_reading import StaleStateError
from stores.errors import StoreUnavailableError

log = logging.getLogger(__name__)

BATCH = 1_000  # records in one round
_IDLE = 0.5  # seconds that a poll may wait; only stopping depends on it
_SOON = 0.05  # the same while messages are parked, whose members may come back
_AGAIN = 0.3  # seconds before what failed is tried again
_STEP = 10.0  # seconds for one step of a transaction

_FAILURES = (KafkaException, BufferError, KafkaNotReadyError, StoreUnavailableError, StaleStateError)


@dataclass(frozen=True)
class DispatcherSetting:
    """Where a dispatcher finds what it works with."""

    kafka: str
    topics: KafkaTopics
    name: str
    """Under which it is a member of the group."""
    session_timeout_ms: int
    backlogs: Backlogs | None
    """Reads what is parked; None where nothing can be, as no session lasts."""
    nodes: Callable[[], Collection[str] | None]
    """The gateways that live; None while nobody knows."""
    look_soon: Callable[[], None]
    """Asks to look who they are, since members are at others."""
    counters: Counters
    strategies: Strategies
    """By which members are chosen; the same on all gateways, as any of them may have a group."""


def dispatchers_group(prefix: str) -> str:
    """The name of the dispatchers' consumer group, one for each cluster that a Kafka serves."""
    return "sluicemq-shares" if prefix == DEFAULT_PREFIX else f"sluicemq-shares-{prefix}"


class Dispatcher:
    """Runs in a thread of its own."""

    def __init__(self, setting: DispatcherSetting, view: Callable[[Callable[[], bool]], ShareView]) -> None:
        """Args: `view` makes the view of members, given what asks whether to stop."""
        self._setting = setting
        self._topics = setting.topics
        self._partitions: dict[int, DispatchedPartition] = {}
        self._stopping = threading.Event()
        self._view = view(self._stopping.is_set)
        self._commits = Commits(setting.kafka, setting.topics, self._view)
        self._thread = threading.Thread(target=self._run, name="share-dispatcher", daemon=True)

    def start(self) -> None:
        """Join the group, and begin."""
        self._thread.start()

    def stop(self) -> None:
        """Leave the group: others take over at once."""
        self._stopping.set()
        backlogs = self._setting.backlogs
        if backlogs is not None:
            backlogs.cancel()
        if self._thread.is_alive():
            self._thread.join()
        self._view.close()
        if backlogs is not None:
            backlogs.close()

    def _run(self) -> None:
        setting = self._setting
        group = dispatchers_group(self._topics.prefix)
        config = member_config(setting.kafka, group, setting.name, setting.session_timeout_ms)
        stay_member(
            "the dispatcher of shares", config, self._stopping, self._dispatch,
            lambda: self._let_go(list(self._partitions)),
        )  # fmt: skip

    def _dispatch(self, consumer: Consumer) -> None:
        consumer.subscribe(
            [self._topics.shares],
            on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked,
        )  # fmt: skip
        while not self._stopping.is_set():
            is_waiting = any(not one.is_loaded or one.dispatch.parked for one in self._partitions.values())
            first = consumer.poll(_SOON if is_waiting else _IDLE)
            batch = [] if first is None else [first, *consumer.consume(BATCH, 0)]
            records = [message for message in batch if is_record(message, "dispatcher of shares")]
            # What came of a partition that was not loaded yet is read again, from where its state stands.
            loaded = {number: one for number, one in self._partitions.items() if one.is_loaded}
            self._load(consumer)
            self._work(consumer, loaded, records)

    # the group

    def _assigned(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        for place in places:
            self._partitions[place.partition] = DispatchedPartition(
                self._setting.kafka, self._topics, place.partition, self._setting.strategies
            )
        consumer.incremental_assign(places)

    def _revoked(self, _consumer: Consumer, places: list[TopicPartition]) -> None:
        self._let_go([place.partition for place in places])

    def _let_go(self, numbers: list[int]) -> None:
        for number in numbers:
            partition = self._partitions.pop(number, None)
            if partition is not None:
                partition.close()

    def _load(self, consumer: Consumer) -> None:
        for partition in list(self._partitions.values()):
            if partition.is_loaded:
                continue
            try:
                partition.load()
                place = TopicPartition(self._topics.shares, partition.number)
                low, _ = consumer.get_watermark_offsets(place, timeout=_STEP)
                place.offset = max(partition.dispatch.state.next_offset, low)
                consumer.seek(place)
            except (KafkaException, StaleStateError) as error:
                log.warning("shares %d are not to be dispatched yet: %s", partition.number, error)
                partition.close()
                self._stopping.wait(_AGAIN)

    # the work

    def _work(
        self, consumer: Consumer, loaded: Mapping[int, DispatchedPartition], records: Sequence[Message]
    ) -> None:
        self._find_due()
        if not records and not any(one.due for one in self._partitions.values() if one.is_loaded):
            return
        try:
            self._view.catch_up()
            self._find_due()
            group = consumer.consumer_group_metadata()
            for partition in self._partitions.values():
                if partition.is_loaded:
                    self._give_all(partition, group)
            taking = set()
            for message in records:
                taker = loaded.get(message.partition() or 0)
                if taker is not None and taker.is_loaded:
                    taker.take(message)
                    taking.add(taker)
            if taking:
                self._plan_all(sorted(taking, key=lambda one: one.number), group)
        except _FAILURES as error:
            log.warning("a round of shares has failed, and is done anew: %s", error)
            self._commits.forget_nodes()
            for partition in self._partitions.values():
                partition.close()
            self._stopping.wait(_AGAIN)

    def _find_due(self) -> None:
        changed = self._view.groups.take_changed()
        for partition in self._partitions.values():
            partition.due |= changed & partition.dispatch.parked

    def _plan_all(self, busy: Sequence[DispatchedPartition], group: Any) -> None:
        while True:
            nodes = self._living(one.dispatch for one in busy)
            planned = [(one, one.dispatch.plan(self._view.groups.members, nodes)) for one in busy]
            try:
                self._commits.commit(busy[0], planned, group)
            except MembersChangedError:
                for one in busy:
                    one.dispatch.undo()
                continue
            for one, writes in planned:
                self._count(one.dispatch, writes)
                one.dispatch.planned()
                # What was parked behind older ones, though somebody is there, is given out next.
                one.due |= {write.message.group for write in writes if isinstance(write, Park)}
            return

    def _living(self, dispatches: Iterable[Dispatch]) -> Collection[str] | None:
        nodes = self._setting.nodes()
        groups = {message.group for dispatch in dispatches for message in dispatch.pending}
        members = (member for group in groups for member in self._view.groups.members(group))
        if nodes is not None and any(member.is_online and member.node not in nodes for member in members):
            self._setting.look_soon()  # Of two gateways, one that has just come is no worse than one that was there.
        return nodes

    def _count(self, dispatch: Dispatch, writes: Sequence[Write]) -> None:
        counters = self._setting.counters
        counters.shared_deliveries += sum(isinstance(write, Deliver) for write in writes)
        counters.shared_parked += sum(isinstance(write, Park) for write in writes)
        counters.shared_dropped += dispatch.take_dropped()

    def _give_all(self, partition: DispatchedPartition, group: Any) -> None:
        """Give out what groups have parked whose members have come back, before anything newer is decided."""
        backlogs = self._setting.backlogs
        if backlogs is None:
            return
        for name in sorted(partition.due & partition.dispatch.parked):
            members = self._view.groups.members(name)
            if is_abandoned(members):
                self._commit_given(partition, partition.dispatch.give(name, [], None, True), group)
            elif receiver(members, self._setting.nodes()) is not None:
                self._give(partition, name, backlogs, group)
        partition.due.clear()

    def _give(self, partition: DispatchedPartition, name: str, backlogs: Backlogs, group: Any) -> None:
        dispatch = partition.dispatch
        parked = [(m.offset, SharedMessage(name, 2, m.value, m.headers)) for m in backlogs.read(name)]
        portions = portions_of(parked)
        for number, portion in enumerate(portions, 1):
            while True:
                to = receiver(self._view.groups.members(name), self._setting.nodes())
                if to is None:
                    return  # gone again; the rest stays
                try:
                    writes = dispatch.give(name, portion, to, number == len(portions))
                    self._commit_given(partition, writes, group)
                    break
                except MembersChangedError:
                    dispatch.undo()

    def _commit_given(self, partition: DispatchedPartition, writes: list[Write], group: Any) -> None:
        self._commits.commit(partition, [(partition, writes)], group)
        partition.dispatch.given()
