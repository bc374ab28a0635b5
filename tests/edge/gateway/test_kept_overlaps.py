"""A kept client whose filters overlap: one copy of each message, by the downlink or by the log, never by both."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from contracts.persisted_log import Repeats
from contracts.persisted_record import Message
from contracts.route_table import DEVICE, NODE, NODE0, routes_of, takes
from contracts.subscription_record import DEVICE_KIND, SubscriptionRecord
from contracts.topics import matches
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.gateway.persistence.acknowledgements import Acknowledgements
from edge.gateway.persistence.feed import Feed
from edge.mqtt.packets import Publish
from tests.edge.gateway.persistence.client import PlayedConnection
from tests.edge.gateway.persistence.test_feed import PlayedAcknowledgements
from tests.edge.gateway.test_fanout import HELD, PlayedClient, Record, Sent, Setting, by, shown


class KeptClient(PlayedConnection):
    """Of both ways at once."""

    is_kept = True
    is_slow = False
    outflow = None

    def __init__(self) -> None:
        super().__init__(receive_maximum=65_535)


def routed(
    sent: Sequence[Sent], held: dict[str, Subscription], order: Sequence[str]
) -> tuple[list[tuple[Sent, str]], list[tuple[Sent, str]]]:
    """What a router writes for the client: (to its gateway's downlink, to the log)."""
    downlink: list[tuple[Sent, str]] = []
    log: list[tuple[Sent, str]] = []
    for one in sent:
        for filter in order:
            if filter in held and matches(filter, one.topic):
                record = SubscriptionRecord("c", filter, "gw", held[filter].qos, kind=DEVICE_KIND)
                kinds = {kind for kind, _ in routes_of(record) if takes(kind, one.qos)}
                assert kinds <= {NODE, NODE0, DEVICE}
                (log if DEVICE in kinds else downlink).extend([(one, filter)] if kinds else [])
    return downlink, log


MESSAGES = st.lists(
    st.tuples(st.sampled_from(["a/b", "a/c", "b"]), st.integers(0, 2), st.sampled_from("cp"), st.booleans()),
    max_size=8,
).map(lambda fields: [Sent((0, number), *one) for number, one in enumerate(fields)])
ORDERS = st.permutations(["a/b", "a/+", "a/#", "#", "+/b", "b"])


@given(MESSAGES, HELD, ORDERS, ORDERS, st.integers(0, 8), st.integers(0, 40))
def test_one_copy(
    sent: list[Sent],
    held: dict[str, Subscription],
    first: list[str],
    second: list[str],
    again: int,
    behind: int,
) -> None:
    """A second router writes all from some message on once more; the log is some records ahead or behind."""
    asyncio.run(check(sent, held, first, second, again, behind))


async def check(
    sent: list[Sent],
    held: dict[str, Subscription],
    first: list[str],
    second: list[str],
    again: int,
    behind: int,
) -> None:
    client = KeptClient()
    here = Setting(cast(PlayedClient, client))
    for filter, subscription in held.items():
        here.subscribe("c", filter, subscription)
    local = cast(LocalSubscriptions[PlayedConnection], here.local)
    feed = Feed(
        cast(Connection, client), 0, cast(Acknowledgements, PlayedAcknowledgements()), Counters(),
        lambda topic, filter: local.counting(client, topic, filter), lambda _: None, 100, 10_000,
    )  # fmt: skip
    feed.loaded([], [], [])
    routers = [routed(sent, held, first), routed(sent[again:], held, second)]
    downlink = [record for router in routers for record in router[0]]
    log = [record for router in routers for record in router[1]]
    for one, filter in downlink[:behind]:
        here.take(one, filter)
    repeats = Repeats()
    for offset, (one, filter) in enumerate(log):
        if not repeats.is_repeat(*one.place, "c", filter):
            record = Record(one, filter)
            feed.take(Message(offset, "c", *one.place, one.topic, filter, record.payload, record.all_headers))
    for one, filter in downlink[behind:]:
        here.take(one, filter)
    came = [shown(packet) for packet in client.packets() if isinstance(packet, Publish)]
    wanted = [(b"%d:%d" % one.place, by(held, "c", one)) for one in sent]
    assert sorted(came) == sorted((payload, *terms) for payload, terms in wanted if terms is not None)
    for in_log in (True, False):
        payloads = [payload for payload, qos, *_ in came if bool(qos) is in_log]
        assert payloads == sorted(payloads)
