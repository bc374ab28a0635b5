"""What a tracer tells of messages that pass, in the order of their way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from confluent_kafka import Message

from contracts.persisted_record import Message as KeptMessage
from contracts.trace_record import TraceSwitch
from edge.gateway.connection import Connection
from edge.gateway.ingress import Held
from edge.gateway.local_subscriptions import Subscription
from edge.gateway.tracing import tracer as tracing
from edge.gateway.tracing.tracer import Tracer
from edge.mqtt.events import DeliveryCompleted, DeliveryOutcome
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import Publish
from tests.edge.gateway.test_fanout import PlayedClient, Record, Sent, Setting

PUBLISHES = "tbmq.msg.all"


class Told:
    """A tracer, and what it has told."""

    def __init__(self, *switches: TraceSwitch) -> None:
        self.steps: list[dict[str, Any]] = []
        self.now = 100.0
        self.tracer = Tracer("gw1", PUBLISHES, self.steps.append, lambda: self.now)
        self.tracer.switches = switches

    def kinds(self) -> list[str]:
        return [step["step"] for step in self.steps]


class Routed(Record):
    """A record of the downlink, with what Kafka says of it."""

    def topic(self) -> str:
        return "tbmq.msg.downlink.basic.gw1"

    def timestamp(self) -> tuple[int, int]:
        return 1, 90_000


def report(partition: int, offset: int) -> Message:
    """Kafka's word that it has a publish."""
    return cast(
        Message,
        SimpleNamespace(
            topic=lambda: PUBLISHES,
            partition=lambda: partition,
            offset=lambda: offset,
            timestamp=lambda: (1, 99_999),
        ),
    )


def held(client_id: str, topic: str, packet_id: int = 1) -> Held:
    return Held(
        cast(Connection, SimpleNamespace(client_id=client_id)),
        Publish(topic, b"secret", 1, packet_id=packet_id),
    )


def test_a_publish() -> None:
    told = Told(TraceSwitch("t", "c1", None, 1))
    traced, other = held("c1", "a/b"), held("c2", "a/b")
    for one in (traced, other):
        told.tracer.received(one)
    told.now = 100.5
    for one in (other, traced):
        told.tracer.appended(one, None, report(2, 17))
    assert told.kinds() == ["received", "appended"]
    received, appended = told.steps
    assert received["publish"] == appended["publish"]
    assert (received["client"], received["topic"], received["bytes"]) == ("c1", "a/b", 6)
    assert (appended["message"], appended["at_ms"]) == ("2:17", 100_500.0)
    assert appended["kafka"] == {"topic": PUBLISHES, "partition": 2, "offset": 17, "at_ms": 99_999}
    assert "secret" not in str(told.steps)


def test_what_was_on_its_way_before_the_trace_began_is_passed_over() -> None:
    told = Told(TraceSwitch("t", "c1", None, 1))
    told.tracer.appended(held("c1", "a"), None, report(0, 1))
    assert told.steps == []


async def test_a_delivery_and_its_acknowledgement() -> None:
    told = Told(TraceSwitch("t", None, "a/#", 1))
    client = PlayedClient("c1")
    setting = Setting(client)
    setting.subscribe("c1", "a/+", Subscription(1))
    setting.fanout.tracer = told.tracer
    setting.fanout.take([cast(Message, Routed(Sent((3, 8), "a/b"), "a/+"))])
    assert told.kinds() == ["routed", "sent"]
    routed, sent = told.steps
    assert (routed["message"], routed["filter"], routed["kafka"]["at_ms"]) == ("3:8", "a/+", 90_000)
    assert (sent["message"], sent["client"], sent["qos"]) == ("3:8", "c1", 1)
    [message] = [delivery.message for delivery in client.core.session.outbound.unfinished()]
    told.tracer.completed(cast(Connection, client), DeliveryCompleted(1, message))
    assert told.kinds() == ["routed", "sent", "acknowledged"]
    assert told.steps[-1]["message"] == "3:8"
    told.tracer.completed(cast(Connection, client), DeliveryCompleted(1, message))
    assert len(told.steps) == 3


async def test_a_client_gets_what_others_publish() -> None:
    told = Told(TraceSwitch("t", "c1", None, 1))
    setting = Setting(PlayedClient("c1"), PlayedClient("c2"))
    for client in ("c1", "c2"):
        setting.subscribe(client, "a", Subscription(0))
    setting.fanout.tracer = told.tracer
    setting.fanout.take([cast(Message, Routed(Sent((0, 1), "a", 0), "a"))])
    assert [(step["step"], step.get("client")) for step in told.steps] == [("routed", None), ("sent", "c1")]


async def test_a_publishers_message_is_followed_to_all_who_get_it() -> None:
    told = Told(TraceSwitch("t", "p", None, 1))
    setting = Setting(PlayedClient("c1"), PlayedClient("c2"))
    for client in ("c1", "c2"):
        setting.subscribe(client, "a", Subscription(0))
    setting.fanout.tracer = told.tracer
    setting.fanout.take([cast(Message, Routed(Sent((0, 1), "a", 0), "a"))])
    assert [step.get("client") for step in told.steps] == [None, "c1", "c2"]


async def test_what_is_not_wanted_is_not_told() -> None:
    told = Told(TraceSwitch("t", "nobody", "other/#", 1))
    setting = Setting(PlayedClient("c1"))
    setting.subscribe("c1", "a", Subscription(0))
    setting.fanout.tracer = told.tracer
    setting.fanout.take([cast(Message, Routed(Sent((0, 1), "a", 0), "a"))])
    assert told.steps == []
    assert len(setting.clients["c1"].publishes()) == 1


def test_a_persistent_clients_message() -> None:
    told = Told(TraceSwitch("t", "c1", None, 1), TraceSwitch("u", None, "a", 1))
    record = Routed(Sent((1, 5), "a"), "a")
    told.tracer.kept(cast(Message, record), "c1")
    connection = cast(Connection, SimpleNamespace(client_id="c1"))
    message = KeptMessage(40, "c1", 1, 5, "a", "a", b"", record.all_headers)
    told.tracer.sent(connection, message, DeliveryOutcome.SENT, False)
    told.tracer.completed(connection, DeliveryCompleted(41, OutgoingMessage("a", tag=40)))
    assert told.kinds() == ["routed", "sent", "acknowledged"]
    assert all(step["message"] == "1:5" and step["traces"] == ["t", "u"] for step in told.steps)
    told.tracer.sent(connection, message, DeliveryOutcome.DROPPED_EXPIRED, False)
    assert told.steps[-1]["reason"] == "expired"


async def test_what_is_refused_and_what_is_not_delivered() -> None:
    told = Told(TraceSwitch("t", None, "a", 1))
    connection = cast(Connection, SimpleNamespace(client_id="c1"))
    told.tracer.turned_away(connection, Publish("a", b"", 1, packet_id=3), "not_authorized")
    told.tracer.turned_away(connection, Publish("b", b"", 1, packet_id=4), "not_authorized")
    assert [(step["step"], step["reason"], step["packet_id"]) for step in told.steps] == [
        ("refused", "not_authorized", 3)
    ]
    slow = PlayedClient("c1")
    slow.is_slow = True
    setting = Setting(slow)
    setting.subscribe("c1", "a", Subscription(0))
    setting.fanout.tracer = told.tracer
    setting.fanout.take([cast(Message, Routed(Sent((0, 1), "a", 0), "a"))])
    assert told.kinds()[1:] == ["routed", "dropped"]
    assert told.steps[-1]["reason"] == "slow"


def test_a_client_may_refuse_a_message() -> None:
    told = Told(TraceSwitch("t", "c1", None, 1))
    connection = cast(Connection, SimpleNamespace(client_id="c1"))
    message = KeptMessage(40, "c1", 1, 5, "a", "a", b"", [])
    told.tracer.sent(connection, message, DeliveryOutcome.SENT, False)
    told.tracer.completed(connection, DeliveryCompleted(41, OutgoingMessage("a", tag=40), 0x97))
    assert told.steps[-1]["reason"] == "0x97"


def test_too_many_steps_are_counted() -> None:
    told = Told(TraceSwitch("t", "c1", None, 1))
    for _ in range(tracing.MOST_STEPS + 5):
        told.tracer.received(held("c1", "a"))
    assert len(told.steps) == tracing.MOST_STEPS
    told.now += 1
    told.tracer.received(held("c1", "a"))
    assert told.steps[-1]["left_out"] == 5
