"""Clients by the API: lists, one as a whole, and what is done to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from admin.api.problems import MEDIA_TYPE
from admin.api.services import Services
from admin.clients.following import LOADING, UNREACHABLE, Standing
from admin.clients.waiting import DeviceMessages
from contracts.session_event import APPLICATION, NEVER, Subscription
from contracts.will_record import Will
from tests.admin.api.cluster import PlayedCluster

STRANGE = "a/ü#+ ?&=%2F\\"


def ids(answer: Any) -> list[str]:
    return [one["client_id"] for one in answer.json()["items"]]


@pytest.fixture
def some(cluster: PlayedCluster) -> PlayedCluster:
    """Four clients of all kinds."""
    cluster.connect("Dev-2", "gw2", user_name="ann", address="192.0.2.7", keep_alive=60)
    cluster.connect("dev-1", expiry=3600, user_name="Bob")
    cluster.connect("app1", expiry=NEVER, client_type=APPLICATION, protocol=4)
    cluster.connect("dev-3", expiry=60)
    cluster.leave("dev-3")
    cluster.subscribe("Dev-2", Subscription("a/+", 1), Subscription("$share/g/b/#"))
    return cluster


FOUND: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["Dev-2", "app1", "dev-1", "dev-3"]),
    ({"search": "DEV-"}, ["Dev-2", "dev-1", "dev-3"]),
    ({"search": "dev-?"}, ["Dev-2", "dev-1", "dev-3"]),
    ({"search": "dev"}, ["Dev-2", "dev-1", "dev-3"]),
    ({"search": "ev*"}, []),
    ({"search": "b*b"}, ["dev-1"]),
    ({"search": "[ab]*"}, []),
    ({"search": "ann"}, ["Dev-2"]),
    ({"connected": True}, ["Dev-2", "app1", "dev-1"]),
    ({"connected": False}, ["dev-3"]),
    ({"client_type": "APPLICATION"}, ["app1"]),
    ({"node": "gw2"}, ["Dev-2"]),
    ({"node": "gw2", "connected": False}, []),
    ({"sort": "user_name", "descending": True}, ["Dev-2", "dev-1", "app1", "dev-3"]),
    ({"descending": True, "limit": 2}, ["dev-3", "dev-1"]),
    ({"sort": "node", "offset": 3}, ["Dev-2"]),
]


@pytest.mark.usefixtures("some")
def test_who_is_found(admin: TestClient) -> None:
    for asked, found in FOUND:
        answer = admin.get("/clients", params=asked)
        assert ids(answer) == found, asked
        assert answer.json()["total"] == (4 if {"limit", "offset"} & asked.keys() else len(found)), asked


def test_what_cannot_be_asked(admin: TestClient) -> None:
    for asked in ({"sort": "colour"}, {"limit": 0}, {"offset": -1}, {"client_type": "X"}):
        answer = admin.get("/clients", params=asked)
        assert answer.status_code == 422
        assert next(iter(asked)) in answer.json()["detail"]


@pytest.mark.usefixtures("some")
def test_the_list_tells_what_the_records_do(admin: TestClient) -> None:
    [shown] = admin.get("/clients", params={"search": "dev-2"}).json()["items"]
    assert shown == {
        "client_id": "Dev-2", "user_name": "ann", "state": "connected", "is_connected": True, "node": "gw2",
        "address": "192.0.2.7", "client_type": "DEVICE", "protocol": 5, "protocol_name": "5.0", "keep_alive": 60,
        "clean_start": True, "expiry_seconds": 0, "is_persistent": False, "connected_at_ms": 1_764_410_000_000,
        "disconnected_at_ms": None, "expires_at_ms": None, "warning": "", "subscriptions": 2,
    }  # fmt: skip


def test_one_as_a_whole(admin: TestClient, some: PlayedCluster) -> None:
    shown = admin.get("/client", params={"client_id": "Dev-2"}).json()
    assert [one["filter"] for one in shown["subscriptions"]] == ["$share/g/b/#", "a/+"]
    assert shown["messages"] is None
    assert "Connected to gw2 from 192.0.2.7 for" in shown["explanation"]
    away = admin.get("/client", params={"client_id": "dev-3"}).json()
    assert (away["state"], away["expires_at_ms"]) == ("offline", away["disconnected_at_ms"] + 60_000)
    assert away["messages"] == {"kind": "device", "stored": 12, "released": 1, "behind": 4, "detail": ""}
    assert "12 messages wait for it in the store until it comes back" in away["explanation"]
    application = admin.get("/client", params={"client_id": "app1"}).json()
    assert application["messages"]["lag"] == 100
    assert application["expiry_seconds"] is None
    some.device = DeviceMessages(None, None, None, "start `sluicemq admin` with --store")
    assert "--store" in admin.get("/client", params={"client_id": "dev-3"}).json()["explanation"]
    missing = admin.get("/client", params={"client_id": "dev-4"})
    assert (missing.status_code, missing.headers["content-type"]) == (404, MEDIA_TYPE)


def test_a_will_without_what_is_in_it(admin: TestClient, cluster: PlayedCluster) -> None:
    will = Will("t", b"secret", (("qos", b"1"), ("retain", b"1"), ("user-property:x", b"y")), 5)
    cluster.connect("c", expiry=60, will=will)
    shown = admin.get("/client", params={"client_id": "c"})
    assert shown.json()["will"] == {
        "topic": "t", "qos": 1, "retain": True, "payload_size": 6, "delay_seconds": 5, "due_at_ms": None,
    }  # fmt: skip
    assert "secret" not in shown.text


def test_disconnect(admin: TestClient, some: PlayedCluster) -> None:
    assert admin.post("/client/disconnect", params={"client_id": "dev-1"}).status_code == 204
    assert some.disconnects == [0x98]
    assert admin.get("/client", params={"client_id": "dev-1"}).json()["state"] == "offline"
    again = admin.post("/client/disconnect", params={"client_id": "dev-1"})
    assert again.status_code == 409
    assert "not connected" in again.json()["detail"]
    assert admin.post("/client/disconnect", params={"client_id": "nobody"}).status_code == 404


@pytest.mark.usefixtures("some")
def test_clear(admin: TestClient) -> None:
    for client_id in ("dev-1", "dev-3", "Dev-2"):
        assert admin.delete("/client", params={"client_id": client_id}).status_code == 204
        assert admin.get("/client", params={"client_id": client_id}).status_code == 404
        assert admin.delete("/client", params={"client_id": client_id}).status_code == 404


@pytest.mark.usefixtures("some")
def test_subscriptions_of_one(admin: TestClient) -> None:
    for client_id in ("dev-1", "dev-3", "Dev-2"):
        given = {"filter": "n/+", "qos": 1, "retain_handling": 2, "subscription_id": 7}
        where = {"client_id": client_id}
        made = admin.put("/client/subscriptions", params=where, json=given)
        assert made.status_code == 200, made.text
        assert {**made.json(), **given} == made.json()
        assert made.json() in admin.get("/client/subscriptions", params=where).json()["items"]
        changed = admin.put("/client/subscriptions", params=where, json={"filter": "n/+", "qos": 2})
        assert (changed.json()["qos"], changed.json()["subscription_id"]) == (2, None)
        gone = {**where, "filter": "n/+"}
        assert admin.delete("/client/subscriptions", params=gone).status_code == 204
        assert admin.delete("/client/subscriptions", params=gone).status_code == 404


WRONG: list[tuple[dict[str, Any], int, str]] = [
    ({"filter": "a/#/b"}, 422, "last level"),
    ({"filter": ""}, 422, "empty"),
    ({"filter": "$share/g"}, 422, "$share"),
    ({"filter": "a", "qos": 3}, 422, "qos"),
    ({"filter": "a", "subscription_id": 0}, 422, "subscription_id"),
    ({"filter": "a", "quality": 1}, 422, "quality"),
    ({}, 422, "filter"),
    ({"filter": "$exclusive/a"}, 409, "exclusive"),
]


@pytest.mark.usefixtures("some")
def test_what_cannot_be_subscribed(admin: TestClient) -> None:
    for given, status, says in WRONG:
        answer = admin.put("/client/subscriptions", params={"client_id": "dev-3"}, json=given)
        assert (answer.status_code, answer.headers["content-type"]) == (status, MEDIA_TYPE)
        assert says in answer.json()["detail"]


@pytest.mark.usefixtures("some")
def test_queue_is_a_group(admin: TestClient) -> None:
    where = {"client_id": "dev-1"}
    made = admin.put("/client/subscriptions", params=where, json={"filter": "$queue/a"}).json()
    assert (made["filter"], made["share_group"], made["topic_filter"]) == ("$share/$queue/a", "$queue", "a")
    assert admin.get("/subscriptions", params={"filter": "$queue/a"}).json()["items"] == [made]
    gone = {**where, "filter": "$queue/a"}
    assert admin.delete("/client/subscriptions", params=gone).status_code == 204


def test_any_client_id_and_filter(admin: TestClient, cluster: PlayedCluster) -> None:
    cluster.connect(STRANGE)
    where = {"client_id": STRANGE}
    made = admin.put("/client/subscriptions", params=where, json={"filter": "ü/ ?&=%/+/#"})
    assert made.status_code == 200
    assert ids(admin.get("/clients", params={"search": "ü#"})) == [STRANGE]
    assert admin.get("/client", params=where).json()["subscriptions"] == [made.json()]
    gone = {**where, "filter": "ü/ ?&=%/+/#"}
    assert admin.delete("/client/subscriptions", params=gone).status_code == 204
    assert admin.post("/client/disconnect", params=where).status_code == 204


SUBSCRIPTIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["$share/g/b/#", "a/+", "a/1"]),
    ({"topic": "a/1"}, ["a/+", "a/1"]),
    ({"topic": "b"}, ["$share/g/b/#"]),
    ({"search": "A/"}, ["a/+", "a/1"]),
    ({"search": "dev-1"}, ["a/1"]),
    ({"search": "a/?"}, ["a/+", "a/1"]),
    ({"client_id": "dev-1"}, ["a/1"]),
    ({"client_id": "nobody"}, []),
    ({"filter": "a/+"}, ["a/+"]),
    ({"share_group": "g"}, ["$share/g/b/#"]),
    ({"sort": "qos", "descending": True}, ["a/+", "$share/g/b/#", "a/1"]),
    ({"node": "gw9"}, []),
]


def test_all_subscriptions(admin: TestClient, some: PlayedCluster) -> None:
    some.subscribe("dev-1", Subscription("a/1"))
    for asked, found in SUBSCRIPTIONS:
        answer = admin.get("/subscriptions", params=asked).json()
        assert [one["filter"] for one in answer["items"]] == found, asked
        assert answer["total"] == len(found)
    assert admin.get("/subscriptions", params={"topic": "a/+"}).status_code == 422


def test_a_client_that_comes_and_goes_is_asked_again(admin: TestClient, some: PlayedCluster) -> None:
    some.moved = 2
    given = {"filter": "a"}
    answer = admin.put("/client/subscriptions", params={"client_id": "dev-1"}, json=given)
    assert answer.status_code == 200
    assert len(some.commands) == 3


def test_nobody_answers(admin: TestClient, some: PlayedCluster) -> None:
    some.is_silent = True
    answer = admin.post("/client/disconnect", params={"client_id": "dev-1"})
    assert answer.status_code == 504
    assert "gateways run" in answer.json()["detail"]


LOOKS = [
    ("/clients", {}), ("/client", {"client_id": "dev-1"}), ("/client/subscriptions", {"client_id": "dev-1"}),
    ("/subscriptions", {}), ("/retained", {}), ("/retained/message", {"topic": "t"}),
]  # fmt: skip


def test_what_is_not_known_is_not_told(admin: TestClient, some: PlayedCluster) -> None:
    for state in (LOADING, UNREACHABLE):
        some.follows.now = Standing(state, "Kafka at k:9092 has not answered for 9 s", 7, 3)
        for path, params in LOOKS:
            answer = admin.get(path, params=params)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "has not answered" in answer.json()["detail"]
        shown = admin.get("/view").json()
        assert (shown["state"], shown["records_read"], shown["records_behind"]) == (state, 7, 3)
        assert shown["sessions"] == 4


def test_without_a_cluster_it_says_what_to_set(admin: TestClient, services: Services) -> None:
    services.clients = None
    for path, params in LOOKS:
        answer = admin.get(path, params=params)
        assert answer.status_code == 503
        assert "--kafka" in answer.json()["detail"]
    assert admin.get("/view").json()["state"] == "not configured"
    assert admin.get("/credentials").status_code == 200


def test_the_view_counts(admin: TestClient, some: PlayedCluster) -> None:
    some.follows.now = replace(some.follows.now, loaded_in_ms=12)
    shown = admin.get("/view").json()
    assert (shown["sessions"], shown["connected"], shown["subscriptions"]) == (4, 3, 2)
    assert (shown["state"], shown["loaded_in_ms"]) == ("up", 12)
