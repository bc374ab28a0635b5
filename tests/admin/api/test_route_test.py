"""Who would receive a message, by the API."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from contracts import subscription_record
from contracts.subscription_record import SubscriptionRecord
from tests.admin.api.cluster import PlayedCluster
from tests.admin.cluster.house import GATEWAY, PlayedParts


def subscribe(cluster: PlayedCluster, *records: SubscriptionRecord) -> None:
    """There are these subscriptions."""
    for record in records:
        key = subscription_record.encode_key(record.client_id, record.subscribed_filter)
        cluster.view.subscriptions.take(key, subscription_record.encode_value(record))


def test_a_table_of_receivers(admin: TestClient, cluster: PlayedCluster, played: PlayedParts) -> None:
    played.states.say(replace(GATEWAY, share_strategies={"": "round_robin", "g": "sticky"}))
    played.kafka.bounds_of = {("tbmq.client.subscriptions", number): (0, 9) for number in (0, 1)}
    subscribe(
        cluster,
        SubscriptionRecord("c1", "a/+", "gw1", 1, subscription_id=7),
        SubscriptionRecord("c2", "#", "gw1", 2, kind="device"),
        SubscriptionRecord("c3", "a/b", "gw2", 1, share_group="g"),
        SubscriptionRecord("c4", "a/b", "gw2", 1, no_local=True),
        SubscriptionRecord("c5", "b/#", "gw2", 1),
    )
    shown = admin.post("/route-test", json={"topic": "a/b", "qos": 2, "client_id": "c4"}).json()
    assert (shown["topic"], shown["qos"], shown["total"], shown["is_cut"]) == ("a/b", 2, 3, False)
    by_client = {one["client_id"]: one for one in shown["receivers"]}
    assert {client: (one["target"], one["qos"]) for client, one in by_client.items()} == {
        "c1": ("node", 1), "c2": ("persisted", 2),
    }  # fmt: skip
    assert by_client["c1"]["subscription_id"] == 7
    assert by_client["c1"]["kafka_topic"] == "tbmq.msg.downlink.basic.gw1"
    [group] = shown["groups"]
    assert (group["group"], group["strategy"], group["kafka_topic"]) == ("g", "sticky", "tbmq.msg.shared")
    assert [one["client_id"] for one in group["members"]] == ["c3"]
    assert shown["left_out"] == [{"client_id": "c4", "filter": "a/b", "why": "no_local"}]
    assert [(one["version"], one["end"]) for one in shown["table"]] == [(7, 9), (9, 9)]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"topic": "a/+"}, "wildcard"),
        ({"topic": ""}, "empty"),
        ({"topic": "a", "qos": 3}, "qos"),
        ({"topic": "a", "retain": True}, "retain"),
        ({}, "topic"),
    ],
)
def test_what_cannot_be(admin: TestClient, played: PlayedParts, given: dict[str, object], says: str) -> None:
    played.states.say(GATEWAY)
    answer = admin.post("/route-test", json=given)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]


def test_without_kafka(admin: TestClient, played: PlayedParts) -> None:
    played.states.say(GATEWAY)
    played.kafka.is_gone = True
    answer = admin.post("/route-test", json={"topic": "a"})
    assert answer.status_code == 503
    assert "Kafka" in answer.json()["detail"]
