"""Filters that nobody may subscribe to, and the settings of what MQTT leaves to the server."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from edge.gateway.config import GatewayConfig
from edge.gateway.denied_filters import DeniedFilters


@pytest.mark.parametrize(
    ("filter", "is_denied"),
    [
        ("test/nosubscribe", True),
        ("a/#", True),
        ("$share/g/a/#", True),
        ("$share/$queue/a/#", True),
        ("$exclusive/a/#", True),
        ("test/nosubscribe/", False),
        ("Test/nosubscribe", False),
        ("a/b", False),
        ("test/+", False),
        ("#", False),
        ("$share/g/b", False),
    ],
)
def test_they_are_compared_character_by_character(filter: str, is_denied: bool) -> None:
    denied = DeniedFilters(" test/nosubscribe, a/#,")
    assert denied.among([filter, "other"]) == ({filter: 0x87} if is_denied else {})


@pytest.mark.parametrize("written", ["0x80", "128"])
def test_the_reason_is_configured(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("SLUICEMQ_DENIED_REASON_CODE", written)
    config = GatewayConfig(node="n", kafka="k:1")
    assert config.denied_reason == 0x80
    assert DeniedFilters("a", config.denied_reason).among(["a"]) == {"a": 0x80}


def test_none_by_default() -> None:
    assert DeniedFilters("").among(["", "a"]) == {}


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("denied_filters", "a,b#"),
        ("denied_reason", 0x8F),
        ("denied_reason", "none"),
        ("response_information", "a/+/"),
        ("topic_alias_out_max", 65_536),
        ("ws_port", -1),
    ],
)
def test_settings_that_cannot_be(setting: str, value: object) -> None:
    with pytest.raises(ValidationError, match=setting):
        GatewayConfig(node="gw1", kafka="localhost:1", **{setting: value})  # type: ignore[arg-type]


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISTENER_WS_ENABLED", "true")
    monkeypatch.setenv("LISTENER_WS_BIND_ADDRESS", "127.0.0.2")
    monkeypatch.setenv("LISTENER_WS_BIND_PORT", "8083")
    monkeypatch.setenv("SLUICEMQ_DENIED_FILTERS", "test/nosubscribe")
    monkeypatch.setenv("SLUICEMQ_RESPONSE_INFORMATION", "answers/${clientid}/")
    monkeypatch.setenv("SLUICEMQ_TOPIC_ALIAS_OUT_MAX", "3")
    monkeypatch.setenv("SLUICEMQ_CHECK_PAYLOAD_FORMAT", "1")
    config = GatewayConfig(node="gw1", kafka="localhost:1")
    assert (config.ws_enabled, config.ws_host, config.ws_port) == (True, "127.0.0.2", 8083)
    assert (config.denied_filters, config.topic_alias_out_max) == ("test/nosubscribe", 3)
    assert (config.response_information, config.check_payload_format) == ("answers/${clientid}/", True)
