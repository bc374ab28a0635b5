"""I10: records that are not of the documented form, written by a foreign Kafka client, are counted and stop nobody."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from confluent_kafka import Producer

from admin.stack.embedded import Stack
from admin.stack.gateway import MqttAddress
from contracts.kafka_topics import KafkaTopics
from contracts.probe_record import PROBE_KEY
from tests.live.conftest import Connecting
from tests.live.failures.conftest import PARTITIONS
from tests.live.peers import Peer, eventually

pytestmark = [pytest.mark.live, pytest.mark.timeout(900, func_only=True)]

SECONDS_TO_COME_BACK = 300.0
TOPICS = KafkaTopics()

Record = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]
"""Key, value, headers."""

WRONG_HEADERS = [
    ("client-id", b"\xff\xfe"),
    ("node", None),
    ("qos", b"7"),
    ("qos", b"\xff"),
    ("retain", b"maybe"),
    ("protocol", b"99999999999999999999999"),
    ("message-expiry", b"-1"),
    ("published-at", b"now"),
    ("payload-format", b"text"),
    ("content-type", b"\xc3\x28"),
    ("response-topic", b"a/#"),
    ("correlation-data", None),
    ("user-property:", b"\xff"),
    ("user-property:k", None),
    ("id", b"not an id"),
    ("filter", b"\xff"),
    ("topic", None),
    ("routes", b"{"),
    ("routes", b"\xff"),
    ("routes", None),
    ("routes", b'[{"filter":1,"kind":2,"node":{"a":3}}]'),
    ("routes", b'[{"filter":"a","kind":"node","node":"no such/name"}]'),
    ("routes", b"[null]"),
    ("routes", b"[[]]"),
    ("probe", b"x"),
]
WRONG_KEYS = [None, b"", b"\xff\xfe", b"\xc3\x28", b"a\0b", b"a/+/b", b"#", b"x" * 70_000, b"\xed\xa0\x80"]
SUBSCRIPTION_KEYS = [None, b"", b"\xff\0a", b"no separator", b"\0", b"c\0", b"c\0\xff"]
SUBSCRIPTION_VALUES: list[Any] = [
    None,
    "text",
    [],
    {},
    {"filter": "a"},
    {"node": "gw1"},
    {"filter": None, "node": None},
    {"filter": "a", "node": "gw1", "qos": "many"},
    {"filter": "a", "node": "gw1", "kind": ["node"]},
    {"filter": ["a"], "node": {"gw1": 1}},
    {"filter": "a/#/b", "node": "gw1"},
    {"filter": "a+/#", "node": "gw1"},
    {"filter": "", "node": "gw1"},
    {"filter": "poison/a", "node": "no such/name"},
    {"filter": "poison/a", "node": ""},
    {"filter": "poison/a", "node": "gw1", "share_group": 5},
    {"filter": "poison/a", "node": "gw1", "kind": "application"},
    {"filter": "x" * 70_000, "node": "gw1"},
    {"filter": "\ud800", "node": "gw1"},
]


def write(kafka: str, topic: str, records: Sequence[Record], partitions: int) -> None:
    """Write each record into each partition."""
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 100})
    for partition in range(partitions):
        for key, value, headers in records:
            producer.produce(topic, value, key, partition, headers=list(headers))
    assert producer.flush(30.0) == 0


def interleaved(poison: Sequence[Record], good: Callable[[int], Record]) -> list[Record]:
    """Each record of poison, and a good one right behind it."""
    return [record for number, bad in enumerate(poison) for record in (bad, good(number))]


def messages(topic: str) -> list[Record]:
    """Poison for `tbmq.msg.all`: wrong keys, and each wrong header on a topic that is subscribed."""
    name = topic.encode()
    return [
        *((key, b"poison", []) for key in WRONG_KEYS),
        *((name, b"poison", [header]) for header in WRONG_HEADERS),
        (name, b"poison", WRONG_HEADERS),
        (PROBE_KEY.encode(), None, []),
        (PROBE_KEY.encode(), b"x", [("node", b"no such/name"), ("probe", b"1")]),
        (PROBE_KEY.encode(), None, [("node", b"gw1"), ("probe", b"never")]),
    ]


def subscriptions() -> list[Record]:
    """Poison for `tbmq.client.subscriptions`."""
    good = json.dumps({"filter": "a", "node": "gw1"}).encode()
    values = [json.dumps(value).encode() for value in SUBSCRIPTION_VALUES]
    values += [b"{", b"\xff\xfe", b"", b"[" * 10_000, b'{"filter":"a","node":"gw1","qos":1e999}', b"NaN"]
    found: list[Record] = [(key, good, []) for key in SUBSCRIPTION_KEYS]
    found += [(b"client-%d\0poison/%d" % (number, number), value, []) for number, value in enumerate(values)]
    return [*found, *((key, None, []) for key in SUBSCRIPTION_KEYS)]


def routed(topic: str) -> list[Record]:
    """Poison for a node's downlink: as routed as can be, but for one header."""
    end = [("topic", topic.encode()), ("id", b"79:0"), ("filter", topic.encode())]
    ids = [b"", b":", b"1", b"a:b", b"-1:-1", b"1:2:3", None]
    return [
        (b"0", b"poison", []),
        (None, None, []),
        *((b"0", b"poison", [*end[:1], ("id", id), *end[2:]]) for id in ids),
        (b"0", b"poison", [("topic", b"\xff"), *end[1:]]),
        (b"0", b"poison", [("topic", None), *end[1:]]),
        (b"0", b"poison", [*end[:2], ("filter", b"\xff")]),
        (b"0", b"poison", [("qos", b"9"), *end]),
        (b"0", b"poison", [("response-topic", b"a/#"), *end]),
        (b"0", b"poison", [("topic", b"a/+"), ("id", b"78:1"), end[2]]),
        (b"0", b"poison", [("topic", b""), ("id", b"78:2"), end[2]]),
        (b"0", None, [("filter", PROBE_KEY.encode())]),
    ]


def retained(topic: str) -> list[Record]:
    """Poison for `tbmq.msg.retained`: as good as can be, but for one thing."""
    name, end = topic.encode(), [("subscriptions-read", b"1,2"), ("id", b"0:0")]
    ids = [b"", b":", b"1", b"a:b", b"1:2:3", None]
    return [
        (name, b"poison", []),
        *((key, b"poison", end) for key in WRONG_KEYS),
        *((name, b"poison", [header, *end]) for header in WRONG_HEADERS),
        *((name, b"poison", [end[0], ("id", id)]) for id in ids),
        (name, None, [("subscriptions-read", b"1,x"), end[1]]),
        (name, None, end[::-1]),
    ]


async def until_in_the_table(kafka: str, topic: bytes, subscriber: Peer) -> None:
    """Wait until the router's own table has the subscription: only then it gets what no gateway wrote."""
    sent = 0
    while not subscriber.inbox:
        write(kafka, TOPICS.publishes, [(topic, b"?", [])], 1)
        sent += 1
        await asyncio.sleep(0.5)  # nothing tells when the table is read anew
        assert sent < 2 * SECONDS_TO_COME_BACK
    write(kafka, TOPICS.publishes, [(topic, b"now", [])], 1)
    await subscriber.payloads_until("now", SECONDS_TO_COME_BACK)


async def expect_service(connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str) -> None:
    """Old and new subscriptions of every kind are served, in both directions."""
    for first, second in ((gw1, gw2), (gw2, gw1)):
        subscriber, publisher = await connect(second), await connect(first)
        await publisher.publish(f"{topic}/x/kept", "kept", retain=True)
        await subscriber.subscribe(f"{topic}/+/a", f"{topic}/x/#", qos=1)
        await publisher.publish(f"{topic}/x/a", "hello")
        await publisher.publish(f"{topic}/x/a", "again")  # one copy, though both match
        assert await subscriber.payloads(3, SECONDS_TO_COME_BACK) == ["kept", "hello", "again"]
        await publisher.publish(f"{topic}/x/kept", "", retain=True)


async def test_poison(
    stack: Stack, connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    parts = ("gw1", "gw2", "router")
    pids = [stack.pid(part) for part in parts]
    victim, witness = await connect(gw2), await connect(gw2)
    await victim.subscribe(topic, qos=1)
    await witness.subscribe(f"{topic}/good", qos=1)
    good = f"{topic}/good".encode()

    def routed_good(number: int) -> Record:
        return b"0", b"%d" % number, [("topic", good), ("id", b"77:%d" % number), ("filter", good)]

    downlink = routed(topic)
    write(stack.kafka, TOPICS.downlink("gw2"), interleaved(downlink, routed_good), 1)
    assert await witness.payloads(len(downlink)) == list(map(str, range(len(downlink))))
    write(stack.kafka, TOPICS.subscriptions, subscriptions(), 2)
    await until_in_the_table(stack.kafka, good, witness)
    poison = messages(topic)
    write(
        stack.kafka,
        TOPICS.publishes,
        interleaved(poison, lambda number: (good, b"%d" % number, [])),
        PARTITIONS,
    )
    came = Counter(await witness.payloads(len(poison) * PARTITIONS, SECONDS_TO_COME_BACK))
    assert came == dict.fromkeys(map(str, range(len(poison))), PARTITIONS)
    write(stack.kafka, TOPICS.retained, retained(topic), 4)
    await expect_service(connect, gw1, gw2, topic)
    log = stack.data / "logs" / "gw2.log"
    await eventually(lambda: log.read_text().count("is skipped") >= 20, "the gateway tells what it skipped")
    # What is written here stays: the tests that kill the router come later, and it must get over it again.
    assert [stack.pid(part) for part in parts] == pids
