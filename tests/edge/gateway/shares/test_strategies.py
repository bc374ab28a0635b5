"""Whom each strategy chooses, and how groups get theirs."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from edge.gateway.config import GatewayConfig
from edge.gateway.shares.groups import Member
from edge.gateway.shares.strategies import (
    UNKNOWN,
    Origin,
    Strategies,
    Strategy,
    StrategyName,
    parse_strategies,
)

ORIGINS = [Origin(f"client-{n // 2}", f"topic/{n}", f"gw{n % 3}") for n in range(1_200)]
NAMES = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=8, unique=True)


def members(*names: str, node: str = "gw0") -> list[Member]:
    return [Member(name, node, 1, False) for name in names]


def made(name: StrategyName) -> Strategy:
    return Strategies(name).of("$share/g/t")


def chosen(strategy: Strategy, candidates: list[Member], origins: list[Origin] = ORIGINS) -> list[str]:
    return [strategy.choose(origin, candidates).client_id for origin in origins]


@pytest.mark.parametrize("name", StrategyName)
@given(NAMES, st.builds(Origin, st.text(), st.text(), st.text()))
def test_somebody_who_is_there_is_chosen(name: StrategyName, names: list[str], origin: Origin) -> None:
    candidates = members(*names)
    strategy = made(name)
    assert all(strategy.choose(origin, candidates[n:]) in candidates[n:] for n in range(len(names)))


@pytest.mark.parametrize("name", [name for name in StrategyName if name is not StrategyName.STICKY])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_nobody_gets_far_more_than_others(name: StrategyName, count: int) -> None:
    """Of many publishers and topics; what is left to chance is more than five standard deviations from the bounds."""
    got = Counter(chosen(made(name), members(*(f"member-{n}" for n in range(count)))))
    fair = len(ORIGINS) / count
    assert len(got) == count
    assert all(fair / 1.5 <= share <= fair * 1.5 for share in got.values())


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 4))
def test_turns_go_on(rounds: list[int], count: int) -> None:
    strategy, candidates = made(StrategyName.ROUND_ROBIN), members(*map(str, range(count)))
    got = [name for size in rounds for name in chosen(strategy, candidates, ORIGINS[:size])]
    assert got == [str(number % count) for number in range(sum(rounds))]


def test_turns_pass_over_members_that_come_and_go() -> None:
    strategy = made(StrategyName.ROUND_ROBIN)

    def next_of(*names: str) -> str:
        return strategy.choose(UNKNOWN, members(*names)).client_id

    assert [next_of("a", "b"), next_of("a", "b", "c"), next_of("a", "b", "c")] == ["a", "b", "c"]
    assert [next_of("c", "d"), next_of("c"), next_of("b", "d")] == ["d", "c", "b"]


@pytest.mark.parametrize("name", [StrategyName.HASH_CLIENTID, StrategyName.HASH_TOPIC])
@given(NAMES.filter(lambda names: len(names) > 1), st.randoms())
def test_a_hash_moves_only_what_a_member_leaves(name: StrategyName, names: list[str], random: object) -> None:
    """It is the same for all dispatchers, in whatever order they know the members, and when the member is back."""
    origins, candidates = ORIGINS[:60], members(*names)
    before = chosen(made(name), candidates, origins)
    random.shuffle(candidates)  # type: ignore[attr-defined]
    gone = candidates[0].client_id
    assert chosen(made(name), candidates, origins) == before
    for was, now in zip(before, chosen(made(name), candidates[1:], origins), strict=True):
        assert now == was if was != gone else now != gone


def test_a_hash_is_of_its_key_alone() -> None:
    candidates = members(*"abcdefgh")
    by_client, by_topic = made(StrategyName.HASH_CLIENTID), made(StrategyName.HASH_TOPIC)
    same_client = [Origin("c", f"t/{n}", "gw0") for n in range(50)]
    same_topic = [Origin(f"c{n}", "t", "gw0") for n in range(50)]
    assert len(set(chosen(by_client, candidates, same_client))) == 1
    assert len(set(chosen(by_topic, candidates, same_topic))) == 1
    assert len(set(chosen(by_client, candidates, same_topic))) > 1
    assert len(set(chosen(by_topic, candidates, same_client))) > 1
    # For ever: another answer in another version would move everything while gateways are being replaced.
    assert chosen(by_topic, candidates, same_client[:8]) == list("cdaggefh")


@given(st.lists(st.sets(st.sampled_from("abcd"), min_size=1), min_size=1))
def test_sticky_stays_while_it_can(there: list[set[str]]) -> None:
    strategy = made(StrategyName.STICKY)
    got = [strategy.choose(UNKNOWN, members(*sorted(names))).client_id for names in there]
    for (before, now), names in zip(pairwise(got), there[1:], strict=True):
        assert now == before or before not in names


def test_local_prefers_the_gateway_of_the_publisher() -> None:
    strategy = made(StrategyName.LOCAL)
    candidates = members("a", "b", node="gw1") + members("c", node="gw2")

    def got(node: str) -> set[str]:
        return set(chosen(strategy, candidates, [Origin("p", "t", node)] * 200))

    assert got("gw1") == {"a", "b"}
    assert got("gw2") == {"c"}
    assert got("gw3") == got("") == {"a", "b", "c"}


def test_each_group_has_its_own() -> None:
    strategies = Strategies(
        StrategyName.RANDOM, parse_strategies("a=sticky; a=b = local;;$queue=hash_topic;")
    )
    assert strategies.by_name == {
        "a": StrategyName.STICKY, "a=b": StrategyName.LOCAL, "$queue": StrategyName.HASH_TOPIC
    }  # fmt: skip
    sticky = strategies.of("$share/a/t/#")
    assert type(sticky) is type(Strategies(StrategyName.STICKY).of("$share/x/t"))
    assert sticky is not strategies.of("$share/a/t/#")
    assert type(strategies.of("$share/$queue/t")) is type(made(StrategyName.HASH_TOPIC))
    assert type(strategies.of("$share/other/a")) is type(made(StrategyName.RANDOM))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a", "write group=strategy;group=strategy"),
        ("=random", "write group=strategy;group=strategy"),
        ("a/b=random", "write group=strategy;group=strategy"),
        ("a=random;+=random", "write group=strategy;group=strategy"),
        ("a=round-robin", "'round-robin' is no strategy of share groups: write one of round_robin, random, "),
        ("a=", "'' is no strategy"),
        ("a=random;b=random;a=sticky", "'a' has two strategies"),
    ],
)
def test_settings_that_say_nothing(text: str, error: str) -> None:
    with pytest.raises(ValidationError, match=error):
        GatewayConfig(node="gw1", kafka="nowhere", share_strategies=text)


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GatewayConfig(node="gw1", kafka="nowhere").strategies == Strategies()
    monkeypatch.setenv("SLUICEMQ_SHARE_STRATEGY", "local")
    monkeypatch.setenv("SLUICEMQ_SHARE_STRATEGIES", "a=sticky")
    config = GatewayConfig(node="gw1", kafka="nowhere")
    assert config.strategies == Strategies(StrategyName.LOCAL, {"a": StrategyName.STICKY})
    with pytest.raises(ValidationError, match="'locally' is no strategy"):
        GatewayConfig(node="gw1", kafka="nowhere", share_strategy="locally")
