"""The administration's side of what goes over Kafka: what it reads, what it writes, and what it makes of silence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from admin.clients import administered, commands, following, publishing
from admin.clients.administered import AdministeredClients, open_clients
from admin.clients.errors import NobodyAnswersError, NotReadyError
from admin.clients.following import LOADING, UNREACHABLE, UP
from admin.clients.view import follow_cluster
from contracts import (
    command_answer,
    delayed_record,
    publish_record,
    retained_record,
    session_event,
    session_record,
)
from contracts.command_answer import DONE, MOVED, NO_SESSION, CommandAnswer
from contracts.kafka_topics import KafkaTopics
from contracts.partitioner import partition_of
from contracts.publish_record import MessageProperties, PublishRecord
from contracts.retained_record import RetainedRecord
from contracts.session_event import DISCONNECT, CommandGiven
from contracts.session_record import CONNECTED, OFFLINE, SessionRecord
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.kafka_clients import consumer_config, partition_count, record_headers

PATIENCE = 120.0
SESSION = SessionRecord(CONNECTED, "gw1", "b", "c1", 60, 5, "DEVICE", 7, is_persistent=True)

Take = Callable[[Message], None]


class House:
    """An open cluster, and who plays its gateways."""

    def __init__(self, kafka: str, prefix: str) -> None:
        self.topics = topics = KafkaTopics(prefix)
        for topic in (
            topics.sessions, topics.subscriptions, topics.retained, topics.session_requests, topics.publishes,
            topics.command_answers, topics.delayed,
        ):  # fmt: skip
            partition_count(kafka, topic)  # asked for, it is there
        self.kafka = kafka
        self.cluster: AdministeredClients = open_clients(kafka, prefix, None)
        self._producer = Producer({"bootstrap.servers": kafka})

    def write(self, topic: str, key: bytes, value: bytes | None, **fields: object) -> None:
        self._producer.produce(topic, value, key, **fields)  # type: ignore[arg-type] # a test's own
        assert self._producer.flush(60) == 0

    def put(self, client_id: str, session: SessionRecord) -> None:
        self.write(
            self.topics.sessions, session_record.session_key(client_id), session_record.encode(session)
        )

    def sees(self, is_so: Callable[[], object]) -> bool:
        return self.cluster.view.follows.wait_for(lambda: bool(is_so()), PATIENCE)

    def answer(self, answer: CommandAnswer) -> None:
        key, value = command_answer.encode_key(answer), command_answer.encode_value(answer)
        self.write(self.topics.command_answers, key, value, partition=0)

    @contextmanager
    def reading(self, topic: str, take: Take) -> Iterator[None]:
        """Somebody reads a topic meanwhile."""
        over, count = threading.Event(), partition_count(self.kafka, topic)

        def read() -> None:
            consumer = Consumer(consumer_config(self.kafka))
            consumer.assign([TopicPartition(topic, partition, 0) for partition in range(count)])
            while not over.is_set():
                message = consumer.poll(0.1)
                if message is not None and message.error() is None:
                    take(message)
            consumer.close()

        thread = threading.Thread(target=read)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@pytest.fixture
def house(mock_kafka: str, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Up; with topics that nobody can create, as they are there."""
    monkeypatch.setattr(commands, "create_topics", lambda *_: None)
    made = House(mock_kafka, unique("house"))
    try:
        assert made.sees(lambda: made.cluster.view.follows.standing().state == UP)
        yield made
    finally:
        made.cluster.close()


def test_what_is_written_is_seen_and_poison_is_passed_over(house: House) -> None:
    topics, view = house.topics, house.cluster.view
    for topic in (topics.sessions, topics.subscriptions, topics.retained):
        house.write(topic, b"\xff", b"poison")
    house.put("id", SESSION)
    record = RetainedRecord(
        PublishRecord("r", b"kept", qos=1, properties=MessageProperties(content_type="text")), 0, 5
    )
    house.write(topics.retained, b"r", b"kept", headers=retained_record.encode_headers(record))
    assert house.sees(lambda: view.sessions.get("id") and view.retained.get("r"))
    with view.reading():
        held = view.retained.get("r")
    assert held is not None
    whole = house.cluster.payloads.read("r", held.place)
    assert (whole.payload, whole.properties.content_type) == (b"kept", "text")


def test_a_command_is_answered_and_its_effect_awaited(house: House) -> None:
    """Answers to others, and what is none, are passed over; a client on its way is asked for again."""
    house.put("id", SESSION)
    assert house.sees(lambda: house.cluster.view.sessions.get("id"))
    given: list[CommandGiven] = []

    def decide(message: Message) -> None:
        event = session_event.decode_event(message.value())
        assert isinstance(event, CommandGiven)
        assert (message.key(), event.action) == (b"id", DISCONNECT)
        given.append(event)
        house.write(house.topics.command_answers, b"\xff", b"poison", partition=0)
        house.answer(CommandAnswer("another's", NO_SESSION))
        house.answer(CommandAnswer(event.command, MOVED if len(given) < 3 else DONE))
        if len(given) == 3:
            house.put("id", replace(SESSION, state=OFFLINE, ended_at_ms=9))

    with house.reading(house.topics.session_requests, decide):
        house.cluster.disconnect("id")
    assert len({event.command for event in given}) == 3
    assert house.cluster.view.sessions.connected == 0


def test_nobody_answers(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "PATIENCE", 1.0)
    with pytest.raises(NobodyAnswersError, match="may still be done"):
        house.cluster.commands.give("id", DISCONNECT)


def test_done_and_yet_not_seen(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway that stands still has heard of it, and the connection is there."""
    house.put("id", SESSION)
    assert house.sees(lambda: house.cluster.view.sessions.get("id"))
    monkeypatch.setattr(administered, "PATIENCE", 3.0)

    def decide(message: Message) -> None:
        event = session_event.decode_event(message.value())
        assert isinstance(event, CommandGiven)
        house.answer(CommandAnswer(event.command, DONE))

    with (
        house.reading(house.topics.session_requests, decide),
        pytest.raises(NobodyAnswersError, match="has not ended yet"),
    ):
        house.cluster.disconnect("id")


def test_floors_are_the_newest_publishes(house: House) -> None:
    assert set(house.cluster.commands.newest_publishes()) == {-1}
    house.write(house.topics.publishes, b"t", b"1", partition=1)
    house.write(house.topics.publishes, b"t", b"2", partition=1)
    assert house.cluster.commands.newest_publishes()[:2] == (-1, 1)


def test_a_message_waits_for_its_timekeeper(house: House) -> None:
    taken: list[tuple[int, PublishRecord, int]] = []

    def publish(message: Message) -> None:
        if message.value() is None:
            return
        topic, _ = delayed_record.decode_key(message.key())
        headers = record_headers(message)
        record = publish_record.decode(topic, message.value(), headers)
        taken.append((message.partition() or 0, record, delayed_record.decode_due(headers)))
        if record.topic == "a/b":
            house.write(house.topics.delayed, message.key() or b"", None, partition=message.partition())

    wanted = PublishRecord("a/b", b"x", qos=2, retain=True, properties=MessageProperties(content_type="t"))
    with house.reading(house.topics.delayed, publish):
        due = house.cluster.publisher.publish(wanted)
        later = house.cluster.publisher.publish(PublishRecord("$delayed/600/c", b"y"))
    partitions = partition_count(house.kafka, house.topics.delayed)
    assert taken[0] == (partition_of(b"a/b", partitions), wanted, due)
    assert later - due >= 600_000  # and nobody waited for it


def test_no_gateway_publishes(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "PATIENCE", 1.0)
    with pytest.raises(NobodyAnswersError, match="Kafka has the message"):
        house.cluster.publisher.publish(PublishRecord("a", b"x"))


def test_where_there_is_no_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said so, and nothing is told; a thread tries on."""
    view, follows = follow_cluster("127.0.0.1:1", KafkaTopics())
    assert follows.standing().state == LOADING
    with pytest.raises(NotReadyError, match="still being read"), view.reading():
        pass

    def nobody(kafka: str, _topic: str) -> int:
        raise KafkaNotReadyError(f"Kafka at {kafka} does not answer")

    monkeypatch.setattr(following, "partition_count", nobody)
    follows.start()
    assert follows.wait_for(lambda: follows.standing().state == UNREACHABLE, PATIENCE)
    with pytest.raises(NotReadyError, match="does not answer"), view.reading():
        pass
    follows.stop()
