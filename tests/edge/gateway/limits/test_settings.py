"""The settings of limits, by TBMQ's names."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from contracts.session_event import NEVER
from edge.gateway.config import GatewayConfig
from edge.gateway.limits.longest import Longest
from edge.gateway.limits.rate import Window


def config(**fields: object) -> GatewayConfig:
    return GatewayConfig(node="gw1", kafka="none", **fields)  # type: ignore[arg-type]


def test_nothing_is_limited_unless_asked_for() -> None:
    plain = config()
    rates = (plain.incoming_rate, plain.outgoing_rate, plain.stored_rate, plain.total_rate)
    assert rates == ((), (), (), ())
    assert (plain.quotas, plain.connection_rates) == (None, None)
    assert plain.longest_sessions == Longest(604_800, 604_800)


def test_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MQTT_INCOMING", "MQTT_OUTGOING", "MQTT_TOTAL", "MQTT_DEVICE_PERSISTED_MSGS"):
        monkeypatch.setenv(f"{name}_RATE_LIMITS_ENABLED", "true")
    given = config()
    assert given.incoming_rate == given.outgoing_rate == (Window(10, 1), Window(300, 60))
    assert given.stored_rate == (Window(100, 1), Window(1_000, 60))
    assert given.total_rate == (Window(1_000, 1), Window(50_000, 60))
    monkeypatch.setenv("MQTT_INCOMING_RATE_LIMITS_CLIENT_CONFIG", "1:1")
    monkeypatch.setenv("MQTT_OUTGOING_RATE_LIMITS_CLIENT_CONFIG", "2:1")
    monkeypatch.setenv("MQTT_TOTAL_RATE_LIMITS_CONFIG", "3:1")
    monkeypatch.setenv("MQTT_DEVICE_PERSISTED_MSGS_RATE_LIMITS_CONFIG", "4:1")
    monkeypatch.setenv("SLUICEMQ_CONNECTION_RATE_LIMITS", "5:1")
    monkeypatch.setenv("SLUICEMQ_ADDRESS_CONNECTION_RATE_LIMITS", "6:1")
    monkeypatch.setenv("MQTT_SESSIONS_LIMIT", "7")
    monkeypatch.setenv("MQTT_APPLICATION_CLIENTS_LIMIT", "8")
    monkeypatch.setenv("MQTT_CLIENT_SESSION_EXPIRY_MAX_EXPIRY_INTERVAL", "0")
    monkeypatch.setenv("MQTT_CLIENT_SESSION_EXPIRY_TTL", "9")
    given = config()
    rates = given.incoming_rate + given.outgoing_rate + given.total_rate + given.stored_rate
    assert [window.count for window in rates] == [1, 2, 3, 4]
    assert (given.sessions_limit, given.applications_limit) == (7, 8)
    assert given.longest_sessions == Longest(NEVER, 9)
    assert given.quotas is not None
    assert given.connection_rates is not None


@pytest.mark.parametrize("field", ["incoming_rate_config", "total_rate_config", "address_rate"])
def test_what_is_no_rate_is_said_at_the_start(field: str) -> None:
    with pytest.raises(ValidationError, match="write count:seconds"):
        config(**{field: "ten a second"})
