"""Credentials by the API."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from admin.api.services import Services
from identity.credentials import BasicCredentials
from identity.passwords import is_password

SENSORS = {
    "kind": "basic", "name": "sensors", "username": "sensor", "password": "hunter2",
    "rules": {"publish": ["sensors/${clientid}/.*"], "subscribe": []},
}  # fmt: skip


def test_from_first_to_last(admin: TestClient, services: Services) -> None:
    made = admin.post("/credentials", json=SENSORS)
    assert made.status_code == 201
    assert "hunter2" not in made.text
    assert made.json()["has_password"]
    assert admin.get("/credentials/sensors").json() == made.json()
    assert admin.get("/credentials").json() == {"total": 1, "items": [made.json()]}
    stored = services.credentials.get("sensors")
    assert isinstance(stored, BasicCredentials)
    assert is_password(b"hunter2", stored.password_hash or "")

    changed = admin.put(
        "/credentials/sensors", json={**SENSORS, "password": None, "client_type": "APPLICATION"}
    )
    assert changed.json()["client_type"] == "APPLICATION"
    kept = services.credentials.get("sensors")
    assert isinstance(kept, BasicCredentials)
    assert kept.password_hash == stored.password_hash
    ruled = admin.put("/credentials/sensors/rules", json={"publish": None, "subscribe": ["a"]})
    assert ruled.json()["rules"] == {"publish": None, "subscribe": ["a"]}
    assert admin.delete("/credentials/sensors").status_code == 204
    assert admin.get("/credentials/sensors").status_code == 404


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "x509", "name": "n", "common_name": "dev.*", "is_pattern": True},
        {"kind": "scram", "name": "n", "username": "u", "password": "p"},
        {"kind": "basic", "name": "n", "client_id": "c", "no_password": True},
    ],
)
def test_each_kind(admin: TestClient, given: dict[str, Any]) -> None:
    made = admin.post("/credentials", json=given)
    assert made.status_code == 201, made.text
    shown = made.json()
    hidden = {"password", "no_password"}
    assert {key: shown[key] for key in given.keys() - hidden} == {
        key: given[key] for key in given.keys() - hidden
    }


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        ({**SENSORS, "name": ""}, 422, "empty"),
        ({**SENSORS, "rules": {"publish": ["("]}}, 422, "pattern"),
        ({**SENSORS, "passwort": "x"}, 422, "passwort"),
        ({"kind": "basic", "name": "n", "username": "u"}, 422, "no_password"),
        ({"kind": "magic", "name": "n"}, 422, "kind"),
        ([], 422, ""),
    ],
)
def test_what_cannot_be(admin: TestClient, given: Any, status: int, says: str) -> None:
    answer = admin.post("/credentials", json=given)
    assert answer.status_code == status
    assert says in answer.json()["detail"]
    assert admin.get("/credentials").json()["total"] == 0


def test_a_name_that_is_there(admin: TestClient) -> None:
    admin.post("/credentials", json=SENSORS)
    assert admin.post("/credentials", json=SENSORS).status_code == 409
    assert admin.put("/credentials/other", json=SENSORS).status_code == 422


def test_pages_and_search(admin: TestClient) -> None:
    lines = ["Name,Username,Password", *(f"n{number},User{number}," for number in range(30))]
    headers = {"Content-Type": "text/csv"}
    refused = admin.post("/credentials/import", content="\n".join(lines), headers=headers)
    assert refused.status_code == 422
    answer = admin.post(
        "/credentials/import", content="\n".join(lines), headers=headers, params={"allow_no_password": True}
    )
    assert answer.json() == {"added": 30, "replaced": 0}
    found = admin.get("/credentials", params={"search": "uSER2", "offset": 1, "limit": 3}).json()
    assert found["total"] == 11
    assert [one["name"] for one in found["items"]] == ["n20", "n21", "n22"]
    assert admin.get("/credentials", params={"limit": 0}).status_code == 422


def test_may_this_client_do_that(admin: TestClient) -> None:
    admin.post("/credentials", json=SENSORS)
    asked = {"credentials": "sensors", "client_id": "c1", "action": "publish"}
    rule = "sensors/${clientid}/.*"
    for topic, expected in (("sensors/c1/t", rule), ("sensors/c2/t", None)):
        answer = admin.post("/authorization-test", json={**asked, "topic": topic})
        assert answer.json() == {"allowed": expected is not None, "rule": expected}
    answer = admin.post("/authorization-test", json={**asked, "action": "subscribe", "topic": "sensors/c1/t"})
    assert not answer.json()["allowed"]
