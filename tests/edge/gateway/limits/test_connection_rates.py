"""Connections in a time: whose address counts as whose."""

from __future__ import annotations

import pytest

from edge.gateway.limits.connection_rates import ConnectionRates, origin_of
from edge.gateway.limits.rate import Window


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", ""),
        ("proxy.example", "proxy.example"),
    ],
)
def test_whose_an_address_is(host: str, origin: str) -> None:
    assert origin_of(host) == origin


def test_each_address_has_its_own_rate() -> None:
    rates = ConnectionRates([], [Window(2, 60)])
    assert [rates.may_come("2001:db8::1", 0.0), rates.may_come("2001:db8::ffff", 0.0)] == [True, True]
    assert not rates.may_come("2001:db8::2", 0.0)
    assert rates.may_come("2001:db8:0:1::2", 0.0)
    assert not rates.may_come("2001:db8::2", 29.0)  # refused ones count for nothing …
    assert rates.may_come("2001:db8::2", 30.1)  # … so it may come when it could have
    assert rates.wait(0.0) == 0.0


def test_all_together() -> None:
    rates = ConnectionRates([Window(1, 2)], [])
    assert rates.wait(0.0) == 0.0
    rates.accepted(0.0)
    assert rates.wait(0.5) == pytest.approx(1.5, abs=1e-5)
    assert rates.may_come("192.0.2.7", 0.0)
