"""Strategies of share groups over two gateways; the stack's settings name groups for them."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest

from admin.stack.gateway import MqttAddress
from tests.live.conftest import Connecting
from tests.live.peers import Peer, eventually

pytestmark = pytest.mark.live

GROUPS = {1: "by-topic", 2: "by-client", 3: "stuck", 4: "near"}
"""As in the settings, by subscription identifier, which tells for which group a message came."""

Got = dict[str, dict[tuple[str, str], set[Peer]]]
"""Group → (publisher's gateway, topic) → who got something of it."""


async def got_by(members: list[Peer], count: int) -> Got:
    """Who has got what, when so many messages have come."""
    await eventually(lambda: sum(len(member.inbox) for member in members) >= count, f"{count} messages")
    got: Got = defaultdict(lambda: defaultdict(set))
    for member in members:
        for message in await member.take(len(member.inbox)):
            [identifier] = message.properties.subscription_identifiers
            got[GROUPS[identifier]][message.payload.decode(), message.topic].add(member)
    return got


def union(sets: list[set[Peer]]) -> set[Peer]:
    return set().union(*sets)


async def test_each_group_by_its_own_strategy(
    connect: Connecting, gw1: MqttAddress, gw2: MqttAddress, topic: str
) -> None:
    members = [await connect(gw1), await connect(gw1), await connect(gw2)]
    for member in members:
        for identifier, name in GROUPS.items():
            await member.subscribe(f"$share/{name}/{topic}/+", qos=1, identifier=identifier)
    publishers = {"gw1": await connect(gw1), "gw2": await connect(gw2)}

    async def publish() -> None:
        """Four messages from each gateway on each of twelve topics."""
        await asyncio.gather(
            *(
                publisher.publish(f"{topic}/{number % 12}", at)
                for at, publisher in publishers.items()
                for number in range(48)
            )
        )

    def check(got: Got, here: list[Peer]) -> Peer:
        by_topic, by_client = got["by-topic"], got["by-client"]
        for number in range(12):
            name = f"{topic}/{number}"
            assert len(by_topic["gw1", name] | by_topic["gw2", name]) == 1
        for at in publishers:
            assert len(union([who for (by, _), who in by_client.items() if by == at])) == 1
            nearest = {one for one in here if (one is members[2]) == (at == "gw2")}
            assert union([who for (by, _), who in got["near"].items() if by == at]) <= (nearest or set(here))
        [stuck] = union(list(got["stuck"].values()))
        return stuck

    await publish()
    before = await got_by(members, 384)
    stuck = check(before, members)
    assert len(union(list(before["by-topic"].values()))) > 1
    for name in GROUPS.values():
        await stuck.unsubscribe(f"$share/{name}/{topic}/+")
    left = [member for member in members if member is not stuck]
    await publish()
    after = await got_by(left, 384)
    assert check(after, left) is not stuck
    for key, who in before["by-topic"].items():
        assert after["by-topic"][key] == who or who == {stuck}
    assert stuck.inbox == []
