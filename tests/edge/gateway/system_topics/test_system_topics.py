"""What a gateway tells of itself and its clients: topics, payloads, and when."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.topics import matches, validate_topic
from edge.gateway.counters import Counters
from edge.gateway.system_topics.client_events import Visit
from edge.gateway.system_topics.system_topics import SystemTopics
from edge.gateway.system_topics.values import Snapshot, values_of
from edge.mqtt.events import ConnectionEnded
from edge.mqtt.packets import Publish
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State

VISIT = Visit("c1", "ann", "10.0.0.7", 5, 30, True, 60, 1_000)
COUNTERS = Counters(connects=3, publishes=5, deliveries=7, dropped_large=1, forbidden_publishes=2)
SNAPSHOT = Snapshot("gw1", "1.2", ["gw2", "gw1"], 61.9, 0.0, 2, 3, 4, COUNTERS)


def test_values() -> None:
    values = dict(values_of(SNAPSHOT))
    here = "$SYS/brokers/gw1/"
    assert values["$SYS/brokers"] == "gw1,gw2"
    told = {topic.removeprefix(here): payload for topic, payload in values.items() if topic.startswith(here)}
    assert told["version"] == "1.2"
    assert told["uptime"] == "61"
    assert told["datetime"] == "1970-01-01T00:00:00+00:00"
    assert "SluiceMQ" in told["sysdescr"]
    assert told["stats/connections/count"] == "2"
    assert told["stats/connections/max"] == "3"
    assert told["stats/subscriptions/count"] == "4"
    assert told["metrics/client/connected"] == "3"
    assert told["metrics/messages/received"] == "5"
    assert told["metrics/messages/sent"] == "7"
    assert told["metrics/messages/dropped"] == "3"
    assert told["metrics/gateway/deliveries"] == "7"


def test_a_gateway_that_does_not_know_the_others_yet_tells_of_itself() -> None:
    assert next(values_of(replace(SNAPSHOT, nodes=[]))) == ("$SYS/brokers", "gw1")


def test_client_events() -> None:
    assert VISIT.topic("gw1", "connected") == "$SYS/brokers/gw1/clients/c1/connected"
    assert json.loads(VISIT.connected()) == {
        "clientid": "c1", "username": "ann", "ipaddress": "10.0.0.7", "proto_name": "MQTT", "proto_ver": 5,
        "keepalive": 30, "clean_start": True, "expiry_interval": 60, "connack": 0, "connected_at": 1_000, "ts": 1_000,
    }  # fmt: skip
    gone = json.loads(VISIT.disconnected(ReasonCode.SESSION_TAKEN_OVER, 2_000))
    assert (gone["reason"], gone["connected_at"], gone["disconnected_at"]) == ("takenover", 1_000, 2_000)


@pytest.mark.parametrize(
    ("code", "word"),
    [(None, "tcp_closed"), (0, "normal"), (0x8D, "keep_alive_timeout"), (0x98, "kicked"), (0xFF, "0xff")],
)
def test_reasons(code: int | None, word: str) -> None:
    assert json.loads(VISIT.disconnected(code, 0))["reason"] == word


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_any_client_id_makes_one_level_of_a_topic(client_id: str) -> None:
    topic = replace(VISIT, client_id=client_id).topic("gw1", "connected")
    validate_topic(topic)
    assert matches("$SYS/brokers/+/clients/+/connected", topic)
    other = replace(VISIT, client_id=client_id + "/").topic("gw1", "connected")
    assert other != topic


class Client:
    """What is looked at of a connection, and of its core and its seat."""

    client_id, user_name, host, keep_alive = "c1", "ann", "10.0.0.7", 30
    clean_start, expiry = True, 60
    version, state = ProtocolVersion.V5, State.CONNECTED

    def __init__(self) -> None:
        self.core = self.seat = self


def system_topics(published: list[Publish], **fields: Any) -> SystemTopics:
    settings = {"interval": 60.0, "with_events": True} | fields
    return SystemTopics(
        "gw1", settings["interval"], settings["with_events"], Counters(), published.append,
        lambda: frozenset({"gw2"}), lambda: 0,
    )  # fmt: skip


async def test_values_are_retained_and_events_are_not() -> None:
    published: list[Publish] = []
    topics = system_topics(published)
    topics.start()
    assert published
    assert all(packet.retain and packet.qos == 0 for packet in published)
    assert published[0] == Publish("$SYS/brokers", b"gw1,gw2", retain=True)
    published.clear()
    client: Any = Client()
    topics.connected(client)
    topics.ended(client, ConnectionEnded(None, True))
    topics.ended(client, ConnectionEnded(None, True))
    topics.stop()
    topics.publish_events()
    assert [packet.topic.rsplit("/", 1)[1] for packet in published] == ["connected", "disconnected"]
    assert not any(packet.retain for packet in published)


async def test_who_comes_and_goes_at_one_time_is_told_of_in_order_and_all_at_once() -> None:
    published: list[Publish] = []
    counts: list[int] = []
    topics = system_topics(published)
    client: Any = Client()
    for number in range(20):
        client.client_id = f"c{number}"
        topics.connected(client)
        topics.ended(client, ConnectionEnded(None, True))
        counts.append(len(published))
    assert counts == [1] * 20  # the first need not wait
    async with asyncio.timeout(60):
        while len(published) < 40:
            assert len(published) == 1
            await asyncio.sleep(0)
    told = [tuple(packet.topic.split("/")[-2:]) for packet in published]
    assert told == [(f"c{n}", event) for n in range(20) for event in ("connected", "disconnected")]


async def test_what_is_switched_off_is_not_published() -> None:
    published: list[Publish] = []
    topics = system_topics(published, interval=0.0, with_events=False)
    topics.start()
    client: Any = Client()
    topics.connected(client)
    topics.ended(client, ConnectionEnded(0, False))
    assert published == []


async def test_who_left_before_the_connack_was_never_here() -> None:
    published: list[Publish] = []
    topics = system_topics(published)
    client: Any = Client()
    client.state = State.CLOSED
    topics.connected(client)
    topics.ended(client, ConnectionEnded(None, False))
    client.state, client.client_id = State.CONNECTED, "x" * 65_535  # no topic can hold it
    topics.connected(client)
    assert published == []
