"""Retained messages, and messages that are published, by the API."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from fastapi.testclient import TestClient

from admin.api.problems import MEDIA_TYPE
from admin.clients.publishing import Publisher
from admin.clients.writing import Writer
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import MessageProperties, PublishRecord
from tests.admin.api.cluster import PlayedCluster

FULL = MessageProperties(
    message_expiry=60, published_at_ms=1 << 41, payload_format=1, content_type="application/json",
    response_topic="r", correlation_data=b"\0\xff", user_properties=(("a", "1"), ("a", "2")),
)  # fmt: skip


@pytest.fixture
def some(cluster: PlayedCluster) -> PlayedCluster:
    """Some of all kinds."""
    for topic, payload in (("a/1", b'{"x": 1}'), ("a/2", b"\xff\0"), ("b/ü ?", b"NaN"), ("$s/a", b"t" * 100)):
        cluster.retain(PublishRecord(topic, payload, "dev", "gw1", 1, retain=True))
    return cluster


SOUGHT: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["$s/a", "a/1", "a/2", "b/ü ?"]),
    ({"filter": "a/#"}, ["a/1", "a/2"]),
    ({"filter": "#"}, ["a/1", "a/2", "b/ü ?"]),
    ({"filter": "+/1"}, ["a/1"]),
    ({"filter": "a/1"}, ["a/1"]),
    ({"search": "Ü"}, ["b/ü ?"]),
    ({"search": "*/?"}, ["$s/a", "a/1", "a/2"]),
    ({"filter": "a/+", "search": "2"}, ["a/2"]),
    ({"sort": "size", "descending": True, "filter": "a/+"}, ["a/1", "a/2"]),
    ({"descending": True, "filter": "a/+"}, ["a/2", "a/1"]),
]


@pytest.mark.usefixtures("some")
def test_what_is_found(admin: TestClient) -> None:
    for asked, found in SOUGHT:
        answer = admin.get("/retained", params=asked).json()
        assert [one["topic"] for one in answer["items"]] == found, asked
        assert answer["total"] == len(found)
    page = admin.get("/retained", params={"offset": 1, "limit": 2}).json()
    assert ([one["topic"] for one in page["items"]], page["total"]) == (["a/1", "a/2"], 4)
    for wrong in ({"filter": "a/#/b"}, {"filter": "$share/g/a"}, {"sort": "colour"}):
        assert admin.get("/retained", params=wrong).status_code == 422


@pytest.mark.usefixtures("some")
def test_a_payload_in_all_ways(admin: TestClient) -> None:
    shown = admin.get("/retained/message", params={"topic": "a/1"}).json()
    text = '{"x": 1}'
    assert shown["payload"] == {
        "base64": b64encode(text.encode()).decode(), "text": text, "is_json": True, "json": {"x": 1}
    }  # fmt: skip
    binary = admin.get("/retained/message", params={"topic": "a/2"}).json()["payload"]
    assert binary == {"base64": "/wA=", "text": None, "is_json": False, "json": None}
    number = admin.get("/retained/message", params={"topic": "b/ü ?"}).json()["payload"]
    assert (number["text"], number["is_json"]) == ("NaN", False)
    assert admin.get("/retained/message", params={"topic": "a/3"}).status_code == 404


def test_properties_come_whole(admin: TestClient, cluster: PlayedCluster) -> None:
    cluster.retain(PublishRecord("t", b"1", retain=True, properties=FULL))
    shown = admin.get("/retained/message", params={"topic": "t"}).json()
    assert shown["properties"] == {
        "message_expiry": 60, "payload_format": 1, "content_type": "application/json", "response_topic": "r",
        "correlation_data": "AP8=", "user_properties": [["a", "1"], ["a", "2"]],
    }  # fmt: skip
    assert shown["expires_at_ms"] is not None


def test_what_has_expired_is_not_there(admin: TestClient, cluster: PlayedCluster) -> None:
    short = MessageProperties(message_expiry=0, published_at_ms=5)
    cluster.retain(PublishRecord("t", b"1", retain=True, properties=short))
    assert admin.get("/retained").json() == {"total": 0, "items": []}
    assert admin.get("/retained/message", params={"topic": "t"}).status_code == 404


def test_delete(admin: TestClient, some: PlayedCluster) -> None:
    for topic in ("a/1", "b/ü ?"):
        assert admin.delete("/retained/message", params={"topic": topic}).status_code == 204
        assert some.messages[-1] == PublishRecord(topic, b"", qos=1, retain=True)
        assert admin.delete("/retained/message", params={"topic": topic}).status_code == 404
    assert admin.get("/retained").json()["total"] == 2


def test_publish(admin: TestClient, cluster: PlayedCluster) -> None:
    properties = {
        "payload_format": 0, "content_type": "text/plain", "response_topic": "r", "correlation_data": "AP8=",
        "user_properties": [["a", "1"], ["a", "2"]],
    }  # fmt: skip
    given = {"topic": "a/b", "payload_base64": "AP8=", "qos": 2, "retain": True, "properties": properties}
    answer = admin.post("/messages", json=given)
    assert answer.json() == {"topic": "a/b", "is_published": True, "due_at_ms": 1_764_410_000_000}
    said = MessageProperties(
        payload_format=0, content_type="text/plain", response_topic="r", correlation_data=b"\0\xff",
        user_properties=(("a", "1"), ("a", "2")),
    )  # fmt: skip
    expected = PublishRecord("a/b", b"\0\xff", qos=2, retain=True, properties=said)
    assert cluster.messages == [expected]
    admin.post("/messages", json={"topic": "a", "payload": "ü", "properties": {"message_expiry": 5}})
    assert cluster.messages[-1].payload == "ü".encode()
    assert cluster.messages[-1].properties.published_at_ms is not None  # else its expiry counts from nowhere
    later = admin.post("/messages", json={"topic": "$delayed/60/a"}).json()
    assert (later["topic"], later["is_published"]) == ("a", False)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"topic": ""}, "empty"),
    ({"topic": "a/+"}, "wildcard"),
    ({"topic": "$SYS/a"}, "nobody may publish"),
    ({"topic": "$exclusive/a"}, "nobody may publish"),
    ({"topic": "$delayed/x/a"}, "seconds"),
    ({"topic": "$delayed/1/$SYS/a"}, "published there"),
    ({"topic": "a", "qos": 3}, "qos"),
    ({"topic": "a", "payload_base64": "é"}, "Base64"),
    ({"topic": "a", "payload": "x", "payload_base64": "eA=="}, "either"),
    ({"topic": "a", "payload_base64": "/w==", "properties": {"payload_format": 1}}, "UTF-8"),
    ({"topic": "a", "properties": {"response_topic": "#"}}, "response_topic"),
    ({"topic": "a", "properties": {"content_type": "\0"}}, "content_type"),
    ({"topic": "a", "properties": {"message_expiry": -1}}, "message_expiry"),
    ({"topic": "a", "properties": {"colour": 1}}, "colour"),
    ({"payload": "a"}, "topic"),
]


def test_what_cannot_be_published(admin: TestClient, cluster: PlayedCluster) -> None:
    for given, says in WRONG:
        answer = admin.post("/messages", json=given)
        assert (answer.status_code, answer.headers["content-type"]) == (422, MEDIA_TYPE), given
        assert says in answer.json()["detail"], given
    assert cluster.messages == []


def test_what_is_too_large(
    admin: TestClient, cluster: PlayedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = Publisher("127.0.0.1:1", KafkaTopics(), Writer("127.0.0.1:1"))
    monkeypatch.setattr(cluster, "publish", publisher.publish)
    answer = admin.post("/messages", json={"topic": "a", "payload": "x" * (1 << 20)})
    assert answer.status_code == 422
    assert "1048576" in answer.json()["detail"]
