"""Overview, gateways, router, Kafka and statistics by the API."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from admin.api.problems import MEDIA_TYPE
from admin.cluster.kafka import Group
from admin.cluster.sinks import SinkUrls
from admin.cluster.states import GONE
from contracts.historical_record import HistoricalRecord
from contracts.kafka_topics import KafkaTopic
from tests.admin.cluster.house import GATEWAY, ROUTER, PlayedParts

REQUESTS = "tbmq.client.session.event.request"
ROUTES = [
    "/overview",
    "/nodes",
    "/nodes/gw1",
    "/router",
    "/kafka/topics",
    "/kafka/groups",
    "/shared-subscriptions",
]


@pytest.mark.parametrize("route", [*ROUTES, "/statistics?counter=publishes", "/statistics/counters"])
def test_without_kafka_it_is_told_what_to_set(admin: TestClient, route: str) -> None:
    answer = admin.get(route)
    assert answer.status_code == 503
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert "TB_KAFKA_SERVERS" in answer.json()["detail"]


@pytest.mark.parametrize("route", ROUTES)
def test_a_kafka_that_has_never_answered(admin: TestClient, played: PlayedParts, route: str) -> None:
    played.states.is_read, played.states.trouble, played.kafka.is_gone = False, GONE, True
    answer = admin.get(route)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "Kafka" in answer.json()["detail"]


def test_the_overview_outlives_kafka(admin: TestClient, played: PlayedParts) -> None:
    played.states.say(GATEWAY, ROUTER)
    played.states.trouble, played.kafka.is_gone = GONE, True
    shown = admin.get("/overview").json()
    assert shown["sessions"] == {"connected": 2, "total": None, "applications": None}
    assert shown["warnings"] == ["No Kafka answers at played:1: check the address and that it runs."]


def test_kafka_is_there_when_it_answers_whatever_was_told_before(
    admin: TestClient, played: PlayedParts
) -> None:
    played.states.say(GATEWAY, ROUTER)
    played.states.trouble = GONE
    assert admin.get("/overview").json()["warnings"] == []


def test_overview(admin: TestClient, played: PlayedParts) -> None:
    played.states.say(GATEWAY, ROUTER)
    offsets = {(REQUESTS, 0): (7, "sessions=12 applications=3"), (REQUESTS, 1): (1, "")}
    played.kafka.known_groups["sluicemq-sessions"] = Group("sluicemq-sessions", "Stable", [], offsets)
    shown = admin.get("/overview").json()
    assert shown["messages"] == {"in_per_s": 10.0, "out_per_s": 20.0, "dropped_per_s": 0.5}
    assert shown["sessions"] == {"connected": 2, "total": 12, "applications": 3}
    assert shown["nodes"] == {"living": 1, "silent": [], "stopped": []}
    assert shown["router"] == {
        "state": "running", "generation": 4, "latency_p50_ms": 2.0, "latency_p99_ms": 3.0, "backlog": 5,
    }  # fmt: skip
    assert shown["warnings"] == []


def test_nodes(admin: TestClient, played: PlayedParts) -> None:
    played.states.say(played.other("gw2"))
    played.states.clock.now += 60
    played.states.say(GATEWAY)
    listed = admin.get("/nodes").json()
    assert [(one["node"], one["state"], one["seen_ms_ago"]) for one in listed] == [
        ("gw1", "living", 0), ("gw2", "silent", 60_000),
    ]  # fmt: skip
    assert listed[0]["router"]["latency_ms"] == {"last": 1.0, "p50": 2.0, "p99": 3.0, "probes": 4}
    assert admin.get("/nodes/gw1").json() == listed[0]
    assert admin.get("/nodes/gw9").status_code == 404
    assert admin.delete("/nodes/gw9").status_code == 404
    assert admin.delete("/nodes/gw1").status_code == 409
    assert admin.delete("/nodes/gw2").status_code == 204
    assert played.states.forgotten == [b"gateway/gw2"]
    assert [one["node"] for one in admin.get("/nodes").json()] == ["gw1"]


def test_router(admin: TestClient, played: PlayedParts) -> None:
    assert admin.get("/router").json()["state"] == "unknown"
    played.states.say(GATEWAY, replace(ROUTER, rollovers=3, quarantine=("tbmq.x",)))
    played.kafka.bounds_of = {
        ("tbmq.client.subscriptions", 0): (0, 8),
        ("tbmq.client.subscriptions", 1): (0, 9),
    }
    shown = admin.get("/router").json()
    assert (shown["state"], shown["rollovers"], shown["quarantine"]) == ("running", 3, ["tbmq.x"])
    assert shown["table"] == [
        {"partition": 0, "version": 7, "end": 8}, {"partition": 1, "version": 9, "end": 9},
    ]  # fmt: skip


def test_kafka_topics(admin: TestClient, played: PlayedParts) -> None:
    played.states.say(GATEWAY, played.other("gw2"))
    played.kafka.add(
        replace(
            played.kafka.there["tbmq.msg.all"],
            config={"retention.ms": "1000", "max.message.bytes": "2097152"},
        ),
        KafkaTopic("tbmq.msg.app.billing", 1),
        KafkaTopic("elsewhere", 1),
    )
    played.kafka.bounds_of = {("tbmq.msg.all", 0): (5, 10), ("tbmq.msg.all", 1): (0, 3)}
    listed = admin.get("/kafka/topics", params={"search": "MSG.ALL"}).json()
    assert listed == {"total": 1, "items": [
        {
            "name": "tbmq.msg.all", "role": "publishes", "partitions": 2, "replicas": 2, "size_bytes": 200,
            "records": 8, "retention_ms": 1000, "is_compacted": False,
            "config": {"retention.ms": "1000", "max.message.bytes": "2097152"},
            "differences": [{"setting": "retention.ms", "wanted": "604800000", "found": "1000"}],
        }
    ]}  # fmt: skip
    everything = admin.get("/kafka/topics", params={"limit": 1000}).json()
    by_name = {one["name"]: one for one in everything["items"]}
    assert "elsewhere" not in by_name
    assert by_name["tbmq.msg.app.billing"]["role"] == "application"
    missing = by_name["tbmq.msg.downlink.basic.gw2"]
    assert (missing["partitions"], missing["role"]) == (0, "node")
    assert missing["differences"] == [{"setting": "topic", "wanted": "exists", "found": "missing"}]
    # How many partitions there are was chosen; those that go together must have as many.
    assert by_name["tbmq.msg.delayed"]["differences"] == []
    assert everything["total"] == len(by_name)
    paged = admin.get("/kafka/topics", params={"offset": 3, "limit": 2}).json()
    assert [one["name"] for one in paged["items"]] == sorted(by_name)[3:5]


def test_readers(admin: TestClient, played: PlayedParts) -> None:
    played.states.say(GATEWAY, ROUTER)
    offsets = {(REQUESTS, 0): (7, ""), ("gone", 0): (3, "")}
    played.kafka.known_groups = {
        name: Group(name, "Stable", ["gw1:b1"], offsets)
        for name in ("sluicemq-sessions", "tbmq.share.g.a.slw", "somebody")
    }
    played.kafka.bounds_of = {
        (REQUESTS, 0): (0, 9), ("tbmq.msg.all", 0): (0, 100), ("tbmq.msg.all", 1): (0, 100),
    }  # fmt: skip
    by_name = {one["name"]: one for one in admin.get("/kafka/groups").json()["items"]}
    assert by_name["sluicemq-sessions"] == {
        "name": "sluicemq-sessions", "kind": "sessions", "state": "Stable", "members": ["gw1"], "lag": 2,
        "partitions": [{"topic": REQUESTS, "partition": 0, "offset": 7, "end": 9, "lag": 2}],
    }  # fmt: skip
    assert by_name["tbmq.share.g.a.slw"]["kind"] == "application_share"
    assert (by_name["somebody"]["kind"], by_name["somebody"]["members"]) == ("other", ["gw1:b1"])
    router = by_name["router"]
    assert (router["members"], router["lag"], router["state"]) == (None, 5, "running")
    assert [(one["offset"], one["lag"]) for one in router["partitions"]] == [(95, 5), (100, 0)]
    assert by_name["sink of statistics"]["lag"] == 0
    assert admin.get("/kafka/groups", params={"search": "somebody"}).json()["total"] == 1


def test_a_sink_whose_database_does_not_answer(admin: TestClient, played: PlayedParts) -> None:
    played.cluster.sinks._urls = SinkUrls(messages="sqlite:////nowhere/at-all.db")
    [sink] = admin.get("/kafka/groups", params={"search": "sink"}).json()["items"]
    assert (sink["state"], sink["lag"]) == ("its database does not answer", None)


def test_statistics(admin: TestClient, played: PlayedParts) -> None:
    store = played.cluster.sinks.statistics()
    minute = 60_000
    records = [
        HistoricalRecord(node, number * minute, {"publishes": 10 * number, "connections_now": 1})
        for node in ("gw1", "gw2")
        for number in range(1, 6)
    ]
    store.write(0, None, 10, records)
    assert admin.get("/statistics/counters").json() == {
        "nodes": ["gw1", "gw2"], "counters": ["connections_now", "publishes"],
    }  # fmt: skip
    asked = f"counter=publishes&from={2 * minute}&to={6 * minute}&step=120&node=gw2"
    assert admin.get(f"/statistics?{asked}").json() == {
        "from_ms": 2 * minute, "to_ms": 6 * minute, "step_ms": 2 * minute,
        "series": [{
            "node": "gw2", "counter": "publishes",
            "points": [[2 * minute, 30, 20], [4 * minute, 50, 20]],
        }],
    }  # fmt: skip
    both = admin.get("/statistics?counter=publishes&counter=connections_now&from=0&to=360000").json()
    assert len(both["series"]) == 4


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("counter=a&from=5&to=5", "before"),
        ("counter=a&from=0&to=999999999999&step=60", "2000 steps"),
        ("counter=a&step=1", "step"),
        ("", "counter"),
        ("counter=a&from=x", "from"),
    ],
)
def test_statistics_that_cannot_be(admin: TestClient, played: PlayedParts, query: str, says: str) -> None:
    played.states.say(GATEWAY)
    answer = admin.get(f"/statistics?{query}")
    assert answer.status_code == 422
    assert says in answer.json()["detail"]


def test_statistics_that_are_not_known(admin: TestClient, played: PlayedParts) -> None:
    played.cluster.sinks._urls = SinkUrls()
    answer = admin.get("/statistics?counter=a")
    assert answer.status_code == 503
    assert "SLUICEMQ_STATISTICS_STORE" in answer.json()["detail"]
