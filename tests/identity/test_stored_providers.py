"""What the database chooses about authentication providers, and what of it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from identity.database import Database, Group
from identity.errors import InvalidError, NotThereError
from identity.provider_choices import ProviderChoices, files_of, secrets_of
from identity.settings import SETTINGS, load_settings
from identity.stored_providers import StoredProviders

SECRET = "s" * 40


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROVIDERS", "JWT_SECRET", "JWT_ISSUER"):
        monkeypatch.delenv(f"SLUICEMQ_AUTH_{name}", raising=False)


def test_nothing_is_chosen_at_first(both: Database) -> None:
    assert StoredProviders(both).choices() == ProviderChoices()


def test_from_first_to_last(both: Database) -> None:
    stored = StoredProviders(both)
    before = both.revisions()[Group.AUTHENTICATION]
    stored.put_settings("jwt", {"secret": SECRET, "issuer": "https://a", "claims": {"sub": "${username}"}})
    stored.put_order(["jwt", "basic"])
    choices = stored.choices()
    assert choices.order == ("jwt", "basic")
    assert both.revisions()[Group.AUTHENTICATION] == before + 2
    settings = load_settings(choices.order, choices.settings)
    assert (settings.providers, settings.source) == (("jwt", "basic"), "database")
    assert settings.jwt is not None
    assert (settings.jwt.issuer, settings.jwt.claims) == ("https://a", {"sub": "${username}"})
    stored.put_order([])
    assert stored.choices().order == ()
    stored.put_order(None)
    stored.remove_settings("jwt")
    assert stored.choices() == ProviderChoices()


def test_a_secret_that_is_left_out_stays_and_one_that_is_none_goes(database: Database) -> None:
    stored = StoredProviders(database)
    stored.put_settings("jwt", {"secret": SECRET, "issuer": "a"})
    stored.put_settings("jwt", {"audience": "mqtt"})
    assert stored.choices().of("jwt") == {"secret": SECRET, "audience": "mqtt"}
    stored.put_settings("jwt", {"secret": None, "jwks_url": "https://keys.example/jwks"})
    assert stored.choices().of("jwt") == {"jwks_url": "https://keys.example/jwks"}


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("jwt", {}, "one of secret, public_key"),
        ("jwt", {"secret": "hush"}, "too short"),
        ("jwt", {"secret": SECRET, "issure": "x"}, "no setting 'issure': it has algorithms"),
        ("jwt", {"secret_file": "/etc/passwd"}, "SLUICEMQ_AUTH_JWT_SECRET_FILE"),
        ("jwt", {"secret": SECRET, "leeway": -1}, "leeway"),
        ("jwt", {"public_key": "no key"}, "key"),
        ("http", {}, "url"),
        ("http", {"url": "http://far.example/"}, "TLS"),
        ("scram", {"secret": "short"}, "at least 16"),
        ("basic", {"threads": 0}, "threads"),
    ],
)
def test_what_cannot_be_is_told_and_not_stored(
    database: Database, name: str, values: dict[str, Any], said: str
) -> None:
    stored = StoredProviders(database)
    before = database.revisions()
    with pytest.raises(InvalidError, match=said) as raised:
        stored.put_settings(name, values)
    assert "hush" not in str(raised.value)
    assert stored.choices() == ProviderChoices()
    assert database.revisions() == before


def test_an_order_must_work_with_what_is_stored(database: Database) -> None:
    stored = StoredProviders(database)
    with pytest.raises(InvalidError, match="one of secret"):
        stored.put_order(["basic", "jwt"])
    with pytest.raises(InvalidError, match="there is no 'ldap'"):
        stored.put_order(["ldap"])
    with pytest.raises(InvalidError, match="twice"):
        stored.put_order(["basic", "basic"])
    stored.put_settings("jwt", {"secret": SECRET})
    stored.put_order(["jwt"])
    with pytest.raises(InvalidError, match="one of secret"):
        stored.remove_settings("jwt")
    with pytest.raises(NotThereError):
        stored.remove_settings("http")
    with pytest.raises(NotThereError, match="take one of basic"):
        stored.put_settings("ldap", {})


def test_the_environment_stands_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {"jwt": {"secret": SECRET, "issuer": "stored", "audience": "stored"}}
    monkeypatch.setenv("SLUICEMQ_AUTH_JWT_ISSUER", "mine")
    settings = load_settings(["jwt"], chosen)
    assert settings.jwt is not None
    assert (settings.jwt.issuer, settings.jwt.audience) == ("mine", "stored")
    monkeypatch.setenv("SLUICEMQ_AUTH_PROVIDERS", "basic")
    settings = load_settings(["jwt"], chosen)
    assert (settings.providers, settings.source) == (("basic",), "environment")


def test_a_check_does_not_look_at_the_environment(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text(SECRET)
    monkeypatch.setenv("SLUICEMQ_AUTH_JWT_SECRET_FILE", str(tmp_path / "secret"))
    with pytest.raises(InvalidError, match="one of secret"):
        StoredProviders(database).put_settings("jwt", {"issuer": "a"})


def test_which_settings_are_secret_and_which_name_files() -> None:
    assert {name: secrets_of(name) for name in ("jwt", "http", "scram", "basic")} == {
        "jwt": {"secret"}, "http": {"headers"}, "scram": {"secret"}, "basic": set(),
    }  # fmt: skip
    assert files_of("jwt") == {"secret_file", "public_key_file", "jwks_ca_file"}


def test_settings_are_described_for_whoever_edits_them() -> None:
    schema = json.dumps(SETTINGS["jwt"].model_json_schema())
    assert "What `iss` must be." in schema
