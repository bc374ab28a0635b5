"""The owner: a thread that decides the sessions of those partitions that its consumer group has given to this gateway.

One round: poll events, apply them partition by partition, and commit what follows for all of them in one transaction.
Whatever fails, the partitions that it concerns are loaded again from what Kafka has; nothing is repaired.

A gateway's membership of the group is also its sign of life (membership.py), so it joins before it takes a client.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from contracts.kafka_topics import KafkaTopics
from contracts.session_census import Census
from contracts.wall_clock import epoch_ms
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.fresh_headers import FreshHeaders
from edge.gateway.group_member import is_record, stay_member
from edge.gateway.kafka_clients import member_config, partition_count
from edge.gateway.limits.census import CensusReader
from edge.gateway.limits.quotas import Quotas
from edge.gateway.sessions.membership import Absences, group_of, member_name, members_of
from edge.gateway.sessions.ownership import REMOVAL_DELAY_MS, Process
from edge.gateway.sessions.partition import OwnedPartition, StaleStateError
from edge.gateway.sessions.plain_effects import PlainEffects
from edge.gateway.sessions.transactions import Decided, Returned, Transactions
from edge.gateway.state_reading import log_end
from stores.errors import StoreUnavailableError

log = logging.getLogger(__name__)

BATCH = 1_000  # events in one round
_BUSY = 2  # events in a round that tell of more to come: a transaction costs Kafka the same for one as for a hundred …
_PAUSE = 2.0  # … so they gather for this many times as long as the last round took …
_GATHER = 0.05  # … and for so many seconds at most
_IDLE = 0.5  # seconds that a poll may wait; only timers and stopping depend on it
_SOON = 0.1  # the same while somebody waits for something that no event tells
_LOADING = 0.02  # the same while partitions are loaded
_LOOK = 5.0  # seconds between looks at the group's members when nothing calls for one
_LOOK_SOON = 0.3  # the same while somebody waits for another connection's end, or is absent
_AGAIN = 0.3  # seconds before what failed is tried again
_ANSWER = 5.0  # seconds for Kafka to answer a question


_FAILURES = (KafkaException, BufferError, KafkaNotReadyError, StoreUnavailableError, StaleStateError)


class Owner:
    """Runs in a thread of its own; speaks to the rest of the gateway, as to all others, only through Kafka."""

    def __init__(
        self, kafka: str, topics: KafkaTopics, me: Process, session_timeout_ms: int,
        removal_delay_ms: int = REMOVAL_DELAY_MS, returned: Returned | None = None,
        fresh_headers: FreshHeaders | None = None, quotas: Quotas | None = None,
    ) -> None:  # fmt: skip
        """Prepare to join the group.

        Args:
            kafka: Bootstrap servers.
            topics: The names of the Kafka topics.
            me: This life of this gateway.
            session_timeout_ms: After so long without a sign of life a member is out of the group.
            removal_delay_ms: How long an APPLICATION's Kafka topic outlives its session.
            returned: As `Transactions` has it.
            fresh_headers: As `Transactions` has it.
            quotas: How many sessions there may be in the cluster; None: any number.

        Raises:
            KafkaNotReadyError: Kafka does not answer, or has not the topics as they must be.
        """
        alike = (topics.sessions, topics.session_requests, topics.removed_applications)
        counts = {topic: partition_count(kafka, topic) for topic in alike}
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{topic} has {count}" for topic, count in counts.items())
            raise KafkaNotReadyError(f"{told} partitions: give all the same number")
        self._removal_delay_ms = removal_delay_ms
        self._kafka, self._topics = kafka, topics
        self._group = group_of(topics.prefix)
        self._config = member_config(kafka, self._group, member_name(me), session_timeout_ms)
        self._me = me
        self._plain = PlainEffects(kafka, topics, partition_count(kafka, topics.subscriptions))
        self._transactions = Transactions(kafka, topics, self._plain, returned, fresh_headers)
        self._absences = Absences(me)
        self._quotas, self._census = quotas, None
        if quotas is not None:
            requests = topics.session_requests
            self._census = CensusReader(kafka, self._group, requests, counts[requests])
            quotas.here = lambda: sum((owned.ownership.census for owned in self._loaded), Census())
        self._look_at = 0.0
        self._owned: dict[int, OwnedPartition] = {}
        self._loading: dict[int, Future[None]] = {}
        self._pool = ThreadPoolExecutor(thread_name_prefix="sessions")
        self._stopping = threading.Event()
        self.living: frozenset[str] | None = None
        """The nodes whose gateways are members of the group, as last seen; None before it was."""
        self.joined = threading.Event()
        """Set once this gateway is a member of the group."""
        self._thread = threading.Thread(target=self._run, name="session-owner", daemon=True)

    def start(self) -> None:
        """Join the group, and begin."""
        self._thread.start()

    def stop(self) -> None:
        """Leave the group: others take over at once. Call it when this gateway's last event is durable."""
        self._stopping.set()
        self._thread.join()
        self._pool.shutdown()

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to."""
        return self._stopping.is_set()

    def look_soon(self) -> None:
        """Somebody knows a gateway that is not among `living`: look who is, soon. May be called from any thread."""
        self._look_at = min(self._look_at, time.monotonic() + _LOOK_SOON)

    def _run(self) -> None:
        self._plain.prepare()
        stay_member("the owner of sessions", self._config, self._stopping, self._own, self._let_go_of_all)
        self._plain.close()
        if self._census is not None:
            self._census.close()

    def _let_go_of_all(self) -> None:
        wait(self._loading.values())  # they use the consumer
        self._loading.clear()
        self._let_go(list(self._owned))

    def _own(self, consumer: Consumer) -> None:
        consumer.subscribe(
            [self._topics.session_requests],
            on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked,
        )  # fmt: skip
        while not self._stopping.is_set():
            first = consumer.poll(self._patience())
            batch = [] if first is None else [first, *consumer.consume(BATCH, 0)]
            events: dict[int, list[Message]] = {}
            for message in batch:
                if is_record(message, "owner of sessions"):
                    events.setdefault(message.partition() or 0, []).append(message)
            self._look()
            began_at = time.monotonic()
            self._work(consumer, events)
            if len(batch) >= _BUSY:
                self._stopping.wait(min(_PAUSE * (time.monotonic() - began_at), _GATHER))

    def _patience(self) -> float:
        if self._loading:
            return _LOADING
        now_ms = epoch_ms()
        for owned in self._owned.values():
            due_ms = owned.ownership.next_deadline_ms
            if not owned.is_loaded or owned.losses or (due_ms is not None and due_ms <= now_ms + 1_000):
                return _SOON
        if self._absences.is_anybody_absent or not self.joined.is_set() or self._is_anybody_waiting:
            return _SOON
        return _IDLE

    @property
    def _is_anybody_waiting(self) -> bool:
        return any(owned.ownership.is_waiting for owned in self._owned.values())

    # the group

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for place in partitions:
            self._owned[place.partition] = OwnedPartition(
                self._kafka, self._topics, place.partition, self._removal_delay_ms, self._quotas
            )
        consumer.incremental_assign(partitions)
        self._look_at = 0.0  # somebody came or went

    def _revoked(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._let_go([place.partition for place in partitions])
        self._look_at = 0.0

    def _let_go(self, numbers: list[int]) -> None:
        for number in numbers:
            owned = self._owned.pop(number, None)
            if owned is not None:
                owned.close()

    def _look(self) -> None:
        """Look who is in the group, when it is time; who is not may be lost."""
        now = time.monotonic()
        if now < self._look_at:
            return
        members = members_of(self._kafka, self._group)
        if self._me in members:
            self.joined.set()
            self.living = frozenset(node for node, _ in members)
        loaded = [owned for owned in self._owned.values() if owned.is_loaded]
        holders = {process for owned in loaded for process in owned.ownership.processes}
        holders.discard(self._me)
        for process in self._absences.judge(members, holders, now):
            self._lose(process)
        hurry = self._absences.is_anybody_absent or self._is_anybody_waiting or self._me not in members
        self._look_at = now + (_LOOK_SOON if hurry else _LOOK)

    def _lose(self, process: Process) -> None:
        """Note the loss; it is applied when all that the lost gateway got into the log before has been."""
        concerned = [
            owned for owned in self._owned.values()
            if owned.is_loaded and process in owned.ownership.processes and process not in owned.losses
        ]  # fmt: skip
        for owned in concerned:
            try:
                owned.losses[process] = log_end(self._kafka, self._topics.session_requests, owned.number)
            except KafkaException as error:
                log.warning("gateway %s is lost, which has to wait: %s", process[0], error)
                return
        if concerned:
            log.warning("gateway %s (%s) is gone: its sessions are free", *process)

    # the work

    def _work(self, consumer: Consumer, events: dict[int, list[Message]]) -> None:
        # What came for a partition that is being loaded, or will be, is read again.
        events = {n: found for n, found in events.items() if n not in self._loading}
        self._load_all(consumer)
        now_ms, decided_at = epoch_ms(), time.monotonic()
        loaded = self._loaded
        if events:
            self._count()
        decided: Decided = []
        for owned in loaded:
            if not self._is_due(owned, events, now_ms):
                continue
            if effects := owned.decide(events.get(owned.number, ()), now_ms):
                decided.append((owned, effects))  # what was of no consequence may be read again
        if decided:
            self._commit(loaded[0], decided, consumer.consumer_group_metadata(), decided_at)

    @property
    def _loaded(self) -> list[OwnedPartition]:
        return [owned for n, owned in self._owned.items() if n not in self._loading and owned.is_loaded]

    def _count(self) -> None:
        """Find out how many sessions others have, where there is a quota."""
        if self._quotas is None or self._census is None:
            return
        try:
            self._quotas.elsewhere = self._census.read({owned.number for owned in self._loaded})
        except KafkaException as error:
            log.warning("the cluster's sessions are counted as they were: %s", error)

    def _commit(self, writer: OwnedPartition, decided: Decided, group: object, decided_at: float) -> None:
        # The writer is any partition that is owned, so that whoever gets it next ends what may be left open.
        if writer.producer is None:
            return
        try:
            self._transactions.commit(writer.producer, decided, group, decided_at)
        except _FAILURES as error:
            log.warning("a round of sessions has failed, and is done anew: %s", error)
            for owned in {writer, *(owned for owned, _ in decided)}:
                owned.close()

    @staticmethod
    def _is_due(owned: OwnedPartition, events: dict[int, list[Message]], now_ms: int) -> bool:
        due_ms = owned.ownership.next_deadline_ms
        return owned.number in events or bool(owned.losses) or (due_ms is not None and due_ms <= now_ms)

    def _load_all(self, consumer: Consumer) -> None:
        """Load partitions beside the others' work, however long it takes; the group must hear of this member meanwhile.

        While a partition is loaded its events wait in Kafka, and are read from where its state says.
        """
        for number, loading in list(self._loading.items()):
            if not loading.done():
                continue
            loading.result()
            owned = self._owned.get(number)
            if owned is not None and owned.is_loaded:
                try:
                    consumer.seek(TopicPartition(self._topics.session_requests, number, owned.next_offset))
                except KafkaException as error:  # it has not begun to fetch yet
                    log.debug("sessions %d are not read yet: %s", number, error)
                    continue
                consumer.resume([TopicPartition(self._topics.session_requests, number)])
            del self._loading[number]
        for number, owned in self._owned.items():
            if not owned.is_loaded and number not in self._loading:
                consumer.pause([TopicPartition(self._topics.session_requests, number)])
                self._loading[number] = self._pool.submit(self._load, consumer, owned)

    def _load(self, consumer: Consumer, owned: OwnedPartition) -> None:
        place = TopicPartition(self._topics.session_requests, owned.number)
        try:
            owned.fence()
            [committed] = consumer.committed([place], timeout=_ANSWER)
            low, _ = consumer.get_watermark_offsets(place, timeout=_ANSWER)
            state = (self._topics.sessions, self._topics.removed_applications)
            ends = {topic: log_end(self._kafka, topic, owned.number) for topic in state}
            owned.load(committed.offset, low, ends)
        except (KafkaException, StaleStateError) as error:
            log.warning("sessions %d are not to be had yet: %s", owned.number, error)
            owned.close()
            self._stopping.wait(_AGAIN)
        self._look_at = 0.0
