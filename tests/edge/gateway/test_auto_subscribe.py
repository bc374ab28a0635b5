"""Auto-subscribe rules: what they may say, whom they are for, and that no client id widens a filter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.topics import validate_filter
from edge.gateway.auto_subscribe import AutoSubscription, subscriptions_for
from edge.gateway.config import GatewayConfig
from edge.mqtt.packets import Subscription

NAMES = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12
) | st.sampled_from(["#", "+", "a/b", "$share", "${username}", "${clientid}", "/", "a#"])


def configured(monkeypatch: pytest.MonkeyPatch, rules: Any) -> tuple[AutoSubscription, ...]:
    """The rules as a gateway reads them from its environment."""
    monkeypatch.setenv("SLUICEMQ_AUTO_SUBSCRIBE", rules if isinstance(rules, str) else json.dumps(rules))
    return GatewayConfig(node="gw1", kafka="localhost:1").auto_subscribe


def test_rules_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = configured(
        monkeypatch,
        [
            {
                "filter": "to/${clientid}/${username}/#",
                "qos": 2,
                "no_local": True,
                "retain_as_published": True,
            },
            {"filter": "news", "retain_handling": 2},
        ],
    )
    assert list(subscriptions_for(rules, "c1", "ann")) == [
        Subscription("to/c1/ann/#", 2, True, True, 0),
        Subscription("news", 0, False, False, 2),
    ]


def test_without_rules_nobody_is_subscribed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert configured(monkeypatch, "") == configured(monkeypatch, []) == ()


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("[{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ({"filter": "a"}, "JSON list"),
        ([{"filter": "a/#/b"}], "# must be the last level"),
        ([{"filter": "$share/g"}], "share"),
        ([{"filter": "a", "qos": 3}], "less than or equal to 2"),
        ([{"filter": "a", "qos": "1"}], "valid integer"),
        ([{"filter": "a", "quality": 1}], "not permitted"),
        ([{"qos": 1}], "required"),
        (["a"], "dictionary"),
        ([{"filter": "${client}"}], "only placeholders"),
        ([{"filter": "$share/g/a", "no_local": True}], "leave no_local out"),
    ],
)
def test_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch, rules: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        configured(monkeypatch, rules)


@given(NAMES, st.none() | NAMES)
def test_a_placeholder_fills_one_level_or_the_rule_is_skipped(client_id: str, user_name: str | None) -> None:
    rules = [AutoSubscription(filter=f) for f in ("${clientid}/x", "a/${username}/${clientid}/b", "a/b")]
    found = [wanted.filter for wanted in subscriptions_for(rules, client_id, user_name)]
    for filter in found:
        validate_filter(filter)
        assert "+" not in filter
        assert "#" not in filter
        assert filter.count("/") in (1, 3)
        assert not filter.startswith("$")
    assert found[-1] == "a/b"


@given(
    st.sampled_from(["#", "+", "a/b", "/", "$share", "", "x#", "a+"]),
    st.sampled_from(["${clientid}", "${username}"]),
)
def test_names_that_would_widen_a_filter_are_skipped(name: str, placeholder: str) -> None:
    rule = AutoSubscription(filter=f"{placeholder}/x")
    assert rule.subscription(name, name) is None


@given(NAMES)
def test_a_value_is_not_read_again(name: str) -> None:
    assume(name and not name.startswith("$") and not set(name) & set("/+#"))
    rule = AutoSubscription(filter="${username}/${clientid}")
    wanted = rule.subscription(name, "n${clientid}")
    assert wanted is not None
    assert wanted.filter == f"n${{clientid}}/{name}"


def test_a_filter_that_grows_too_long_is_skipped() -> None:
    assert AutoSubscription(filter="a/${clientid}").subscription("x" * 65_535, None) is None
