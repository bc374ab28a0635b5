"""Blocked clients, and those that were turned away, by the API."""

from __future__ import annotations

import time

from fastapi.testclient import TestClient

from admin.api.services import Services
from identity.unauthorized import Unauthorized


def test_block_and_unblock(admin: TestClient) -> None:
    given = {"subject": "address", "value": "::ffff:192.0.2.7", "reason": "Noisy"}
    made = admin.post("/blocked", json=given)
    assert made.json()["value"] == "192.0.2.7"
    assert admin.get("/blocked", params={"search": "noisy"}).json()["items"] == [made.json()]
    assert admin.get("/blocked", params={"search": "quiet"}).json()["total"] == 0
    which = {"subject": "address", "value": "192.0.2.7"}
    assert admin.delete("/blocked", params=which).status_code == 204
    assert admin.delete("/blocked", params=which).status_code == 404
    wrong = admin.post("/blocked", json={"subject": "address", "value": "here"})
    assert wrong.status_code == 422
    assert "no IP address" in wrong.json()["detail"]


def test_who_was_turned_away(admin: TestClient, services: Services) -> None:
    now = int(time.time() * 1000)
    services.unauthorized.record(
        [Unauthorized(f"c{number}", "192.0.2.1", None, "password", now - number) for number in range(3)]
    )
    listed = admin.get("/unauthorized", params={"limit": 2}).json()
    assert listed["total"] == 3
    assert [one["client_id"] for one in listed["items"]] == ["c0", "c1"]
    assert admin.delete("/unauthorized", params={"client_id": "c1"}).json() == {"removed": 1}
    assert admin.delete("/unauthorized", params={"client_id": "c1"}).status_code == 404
    assert admin.delete("/unauthorized").json() == {"removed": 2}
