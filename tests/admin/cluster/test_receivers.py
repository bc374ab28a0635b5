"""Who would receive a message: every kind of subscriber, and what the router's own rules of matching say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from admin.cluster.nodes import TablePartition
from admin.cluster.receivers import LeftOut, Message, RouteTest, Surroundings, route_test
from contracts.kafka_topics import KafkaTopics, subscription_partition
from contracts.route_table import routes_of, takes
from contracts.subscription_record import SubscriptionRecord

NAMES = KafkaTopics()
AROUND = Surroundings(
    NAMES, {"away": False, "here": True}.get, (TablePartition(0, 10, 10), TablePartition(1, 10, 10)),
    {"": "round_robin", "sticky": "sticky"},
)  # fmt: skip


def ask(
    *records: SubscriptionRecord, qos: int = 1, client_id: str | None = None, most: int = 1000
) -> RouteTest:
    return route_test(Message("a/b", qos, client_id), records, AROUND, most)


def targets(found: RouteTest) -> dict[str, tuple[str, str, int]]:
    return {one.client_id: (one.target, one.kafka_topic, one.qos) for one in found.receivers}


def test_each_kind_of_subscriber() -> None:
    records = [
        SubscriptionRecord("here", "a/+", "gw1", 2),
        SubscriptionRecord("device", "a/b", "gw1", 1, kind="device"),
        SubscriptionRecord("device0", "a/b", "gw2", 0, kind="device"),
        SubscriptionRecord("app", "#", "gw1", 2, kind="app", target="app"),
    ]
    persisted = ("persisted", "tbmq.msg.persisted", 1)
    assert targets(ask(*records)) == {
        "here": ("node", "tbmq.msg.downlink.basic.gw1", 1),
        "device": persisted,
        "device0": ("node", "tbmq.msg.downlink.basic.gw2", 0),
        "app": ("application", "tbmq.msg.app.app", 1),
    }
    at_zero = targets(ask(*records, qos=0))
    assert {target for target, _, _ in at_zero.values()} == {"node"}
    assert {qos for _, _, qos in at_zero.values()} == {0}


def test_share_groups() -> None:
    member = SubscriptionRecord("m1", "a/+", "gw1", 1, share_group="sticky")
    found = ask(
        member,
        replace(member, client_id="m2", node="gw2", online=False),
        replace(member, client_id="m3", share_group="other"),
        replace(member, client_id="app", kind="app", target="a.slw"),
    )
    assert (found.receivers, found.total) == ([], 3)
    assert [
        (one.group, one.filter, one.strategy, one.kafka_topic, len(one.members)) for one in found.groups
    ] == [
        ("other", "a/+", "round_robin", "tbmq.msg.shared", 1),
        ("sticky", "a/+", "sticky", "tbmq.msg.app.shared.a.slw", 1),
        ("sticky", "a/+", "sticky", "tbmq.msg.shared", 2),
    ]
    assert found.groups[0].members[0].filter == "$share/other/a/+"
    assert [one.is_connected for one in found.groups[2].members] == [True, False]


def test_who_is_left_out() -> None:
    found = ask(
        SubscriptionRecord("pub", "a/b", "gw1", no_local=True),
        SubscriptionRecord("away", "a/b", "gw1"),
        SubscriptionRecord("later", "a/b", "gw1", kind="of a newer version"),
        SubscriptionRecord("away", "a/+", "gw1", 1, kind="device"),
        client_id="pub",
    )
    assert found.left_out == [
        LeftOut("pub", "a/b", "no_local"), LeftOut("away", "a/b", "offline"), LeftOut("later", "a/b", "not_served"),
    ]  # fmt: skip
    assert [one.client_id for one in found.receivers] == ["away"]


def test_one_message_for_a_client_with_several_filters_and_long_lists_are_cut() -> None:
    found = ask(*(SubscriptionRecord("c", filter, "gw1") for filter in ("a/b", "a/+", "#")), most=2)
    assert (found.total, len(found.receivers), found.is_cut) == (1, 2, True)
    assert not ask(SubscriptionRecord("c", "#", "gw1")).is_cut


def test_what_the_table_has_for_certain() -> None:
    filters = {subscription_partition(filter, 2): filter for filter in ("a/b", "a/+", "#", "+/b")}
    around = replace(AROUND, table=(TablePartition(0, 10, 10), TablePartition(1, 10, 11)))
    found = route_test(
        Message("a/b"), [SubscriptionRecord("c", filters[number], "gw1") for number in (0, 1)], around
    )
    assert [one.is_in_table for one in found.receivers] == [True, None]
    assert found.table == list(around.table)
    unknown = route_test(Message("a/b"), [SubscriptionRecord("c", "#", "gw1")], replace(around, table=()))
    assert unknown.receivers[0].is_in_table is None


RECORDS = st.builds(
    SubscriptionRecord, st.sampled_from("abc"), st.sampled_from(["a/b", "#"]), st.just("gw1"),
    st.integers(0, 2), st.sampled_from([None, "g"]), kind=st.sampled_from(["node", "device", "app"]),
    target=st.sampled_from([None, "t"]), no_local=st.booleans(),
)  # fmt: skip


@given(st.lists(RECORDS, max_size=8), st.integers(0, 2))
def test_whoever_has_a_route_that_takes_it_is_there_and_nobody_else(
    records: Iterable[SubscriptionRecord], qos: int
) -> None:
    records = list(records)
    around = replace(AROUND, is_connected=lambda _: None)
    found = route_test(Message("a/b", qos), records, around)
    listed = [*found.receivers, *(member for group in found.groups for member in group.members)]
    served = [one for one in records if any(takes(kind, qos) for kind, _ in routes_of(one))]
    assert sorted((one.client_id, one.filter) for one in listed) == sorted(
        (one.client_id, one.subscribed_filter) for one in served
    )
    assert len(found.left_out) == len(records) - len(served)
    assert all(one.qos <= qos for one in listed)
