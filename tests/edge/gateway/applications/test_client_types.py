"""Who is an APPLICATION, and what its session says of how it is served."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from edge.gateway.applications.client_types import NO_TOPIC, NOT_KEPT, ClientTypes
from edge.gateway.config import GatewayConfig


@pytest.mark.parametrize(
    ("client_id", "type"),
    [("app1", "APPLICATION"), ("app", "DEVICE"), ("myapp1", "DEVICE"), ("app1\n", "DEVICE"), ("", "DEVICE")],
)
def test_the_whole_id_must_match(client_id: str, type: str) -> None:
    assert ClientTypes(re.compile("app[0-9]")).of(client_id) == type
    assert ClientTypes().of(client_id) == "DEVICE"


@pytest.mark.parametrize(
    ("client_id", "hashes_ids", "is_persistent", "can_keep", "warning"),
    [
        ("app", True, True, True, ""),
        ("app", True, False, True, NOT_KEPT),
        ("app", False, True, True, ""),
        ("app/1", True, True, True, ""),
        ("app/1", False, False, False, NO_TOPIC),
        ("device/1", False, False, True, ""),
        ("device/1", False, True, True, ""),
    ],
)
def test_ids_that_are_no_topic(
    client_id: str, hashes_ids: bool, is_persistent: bool, can_keep: bool, warning: str
) -> None:
    types = ClientTypes(re.compile("app.*"), hashes_ids)
    assert types.can_keep(client_id) is can_keep
    assert types.warning(client_id, is_persistent) == warning


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("application_clients", "app(", "is no regular expression"),
        ("application_topic_properties", "retention.ms=5", "write name:value"),
        ("application_replay_rate", -1, "greater than or equal to 0"),
    ],
)
def test_settings_that_are_refused(setting: str, value: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        GatewayConfig(node="gw1", kafka="localhost:1", **{setting: value})  # type: ignore[arg-type]


def test_settings_by_their_names_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICEMQ_APPLICATION_CLIENTS", "app-.*")
    monkeypatch.setenv("TB_APP_PERSISTED_MSG_CLIENT_ID_VALIDATION", "false")
    monkeypatch.setenv(
        "TB_KAFKA_APP_PERSISTED_MSG_TOPIC_PROPERTIES", "retention.ms:604800000;retention.bytes:1048576000"
    )
    config = GatewayConfig(node="gw1", kafka="localhost:1")
    assert config.client_types == ClientTypes(re.compile("app-.*"), hashes_ids=False)
    assert config.application_replay_rate == 0
