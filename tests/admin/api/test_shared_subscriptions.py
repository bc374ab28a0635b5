"""What APPLICATIONs share, by the API."""

from __future__ import annotations

from fastapi.testclient import TestClient

from admin.api.services import Services
from contracts.kafka_topics import KafkaTopic
from identity.shared_subscriptions import SharedSubscription
from tests.admin.cluster.house import PlayedParts

TOPIC = "tbmq.msg.app.shared.a.slw"


def test_from_first_to_last(admin: TestClient, played: PlayedParts, services: Services) -> None:
    made = admin.post("/shared-subscriptions", json={"filter": "a/+", "partitions": 3})
    assert made.status_code == 201
    assert made.json() == {"filter": "a/+", "partitions": 3, "kafka_topic": TOPIC, "difference": ""}
    assert played.kafka.there[TOPIC].partitions == 3
    assert services.shared.list() == [SharedSubscription("a/+", 3)]
    assert admin.get("/shared-subscriptions").json() == {"total": 1, "items": [made.json()]}
    assert admin.post("/shared-subscriptions", json={"filter": "a/+"}).json() == made.json()
    other = admin.post("/shared-subscriptions", json={"filter": "a/+", "partitions": 4})
    assert other.status_code == 409
    assert "3 partitions" in other.json()["detail"]
    assert admin.delete("/shared-subscriptions", params={"filter": "a/+"}).status_code == 204
    assert TOPIC not in played.kafka.there
    assert services.shared.list() == []
    assert admin.delete("/shared-subscriptions", params={"filter": "a/+"}).status_code == 404


def test_kafka_and_the_database_are_brought_into_agreement(
    admin: TestClient, played: PlayedParts, services: Services
) -> None:
    services.shared.put(SharedSubscription("b/#", 2))
    played.kafka.add(KafkaTopic(TOPIC, 5), KafkaTopic("tbmq.msg.app.shared.id-" + "0" * 32, 1))
    differing = admin.get("/shared-subscriptions").json()["items"]
    assert {one["filter"]: one["difference"] for one in differing} == {
        "a/+": "not in the database", "b/#": "no Kafka topic", None: "not in the database",
    }  # fmt: skip
    assert admin.get("/shared-subscriptions", params={"search": "B/"}).json()["total"] == 1
    mended = admin.post("/shared-subscriptions/mend").json()
    assert mended == {
        "made": ["b/#"], "stored": ["a/+"], "unknown": ["tbmq.msg.app.shared.id-" + "0" * 32],
    }  # fmt: skip
    assert {one.filter for one in services.shared.list()} == {"a/+", "b/#"}


def test_what_cannot_be(admin: TestClient, played: PlayedParts) -> None:
    for given, says in (
        ({"filter": "$share/g/a"}, "names a group"),
        ({"filter": "a/#/b"}, "last level"),
        ({"filter": ""}, "empty"),
        ({"filter": "a", "partitions": 0}, "partitions"),
        ({}, "filter"),
    ):
        answer = admin.post("/shared-subscriptions", json=given)
        assert answer.status_code == 422
        assert says in answer.json()["detail"]
    played.kafka.is_gone = True
    gone = admin.post("/shared-subscriptions", json={"filter": "a"})
    assert gone.status_code == 503
    assert "No Kafka answers" in gone.json()["detail"]
