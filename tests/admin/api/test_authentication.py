"""Authentication providers by the API."""

from __future__ import annotations

from dataclasses import replace

from fastapi.testclient import TestClient

from admin.api.services import Services
from contracts.state_record import Authentication
from tests.admin.cluster.house import GATEWAY, PlayedParts

SECRET = "s" * 40


def test_from_first_to_last(admin: TestClient, services: Services) -> None:
    shown = admin.get("/authentication").json()
    assert (shown["providers"], shown["nodes"]) == (None, [])
    assert [one["name"] for one in shown["available"]] == ["basic", "x509", "jwt", "http", "scram"]
    given = {"secret": SECRET, "issuer": "https://a", "claims": {"sub": "${username}"}}
    made = admin.put("/authentication/providers/jwt", json={"settings": given})
    assert made.status_code == 200, made.text
    assert SECRET not in made.text
    assert (made.json()["settings"], made.json()["secrets"]) == (
        {"issuer": "https://a", "claims": {"sub": "${username}"}}, {"secret": True},
    )  # fmt: skip
    ordered = admin.put("/authentication/order", json={"providers": ["jwt", "basic"]}).json()
    assert ordered["providers"] == ["jwt", "basic"]
    assert {one["name"]: one["position"] for one in ordered["available"] if one["is_enabled"]} == {
        "jwt": 0, "basic": 1,
    }  # fmt: skip
    assert services.providers.choices().of("jwt")["secret"] == SECRET
    kept = admin.put("/authentication/providers/jwt", json={"settings": {}}).json()
    assert (kept["settings"], kept["secrets"]) == ({}, {"secret": True})
    assert admin.get("/authentication/providers/jwt").json() == kept
    assert admin.delete("/authentication/providers/jwt").status_code == 422
    assert admin.delete("/authentication/order").status_code == 204
    assert admin.delete("/authentication/providers/jwt").status_code == 204
    assert admin.delete("/authentication/providers/jwt").status_code == 404


def test_what_settings_there_are(admin: TestClient) -> None:
    schema = admin.get("/authentication/providers/jwt").json()["settings_schema"]["properties"]
    assert schema["secret"]["x-secret"]
    assert schema["leeway"]["default"] == 0
    assert "iss" in schema["issuer"]["description"]
    assert "secret_file" not in schema
    assert not admin.get("/authentication/providers/http").json()["needs_database"]
    assert admin.get("/authentication/providers/basic").json()["needs_database"]


def test_what_cannot_be_is_told_before_it_is_stored(admin: TestClient, services: Services) -> None:
    for given, says in (
        ({"secret": "hush"}, "too short"),
        ({"jwks_url": "http://far.example"}, "TLS"),
        ({"secret": SECRET, "secret_file": "/x"}, "SLUICEMQ_AUTH_JWT_SECRET_FILE"),
        ({"nonsense": 1}, "no setting 'nonsense'"),
    ):
        answer = admin.put("/authentication/providers/jwt", json={"settings": given})
        assert answer.status_code == 422
        assert says in answer.json()["detail"]
        assert "hush" not in answer.text
    assert admin.put("/authentication/providers/ldap", json={"settings": {}}).status_code == 404
    assert admin.get("/authentication/providers/ldap").status_code == 404
    assert admin.put("/authentication/order", json={"providers": ["jwt"]}).status_code == 422
    assert admin.put("/authentication/order", json={"providers": ["ldap"]}).status_code == 422
    assert services.providers.choices().order is None


def test_nobody_lets_everybody_in_by_accident(admin: TestClient) -> None:
    refused = admin.put("/authentication/order", json={"providers": []})
    assert refused.status_code == 422
    assert "let_everybody_in" in refused.json()["detail"]
    meant = admin.put("/authentication/order", json={"providers": [], "let_everybody_in": True})
    assert meant.json()["providers"] == []


def test_what_is_in_force_at_each_gateway(admin: TestClient, played: PlayedParts) -> None:
    played.states.say(
        replace(GATEWAY, authentication=Authentication(("basic",), "environment")),
        played.other("gw2", authentication=Authentication(("basic",), "database", "it cannot be")),
        played.other("gw3", is_stopped=True),
    )
    assert admin.get("/authentication").json()["nodes"] == [
        {"node": "gw1", "providers": ["basic"], "source": "environment", "error": None},
        {"node": "gw2", "providers": ["basic"], "source": "database", "error": "it cannot be"},
    ]
    played.states.is_read = False
    assert admin.get("/authentication").json()["nodes"] == []
