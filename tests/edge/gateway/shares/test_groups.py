"""The view of who is in which group."""

from __future__ import annotations

from contracts.subscription_record import APPLICATION_KIND, DEVICE_KIND, SubscriptionRecord
from edge.gateway.shares.groups import Member, ShareGroups

G = "$share/g/a/+"


def record(client_id: str, online: bool = True, group: str | None = "g") -> SubscriptionRecord:
    return SubscriptionRecord(client_id, "a/+", "n", 1, group, kind=DEVICE_KIND, online=online)


def test_members_join_go_and_leave() -> None:
    groups = ShareGroups()
    groups.put(record("a"))
    groups.put(record("b"))
    groups.put(record("c", group=None))
    assert groups.members(G) == (Member("a", "n", 1, True), Member("b", "n", 1, True))
    assert groups.take_changed() == {G}
    assert groups.take_changed() == set()
    groups.put(record("a", online=False))
    assert groups.members(G)[0].is_online is False
    groups.remove("a", G)
    groups.remove("b", "a/+")
    groups.remove("nobody", G)
    assert [member.client_id for member in groups.members(G)] == ["b"]
    assert groups.take_changed() == {G}
    groups.remove("b", G)
    assert groups.members(G) == ()


def test_applications_are_no_members() -> None:
    groups = ShareGroups()
    groups.put(SubscriptionRecord("a", "a/+", "n", 1, "g"))
    groups.put(SubscriptionRecord("a", "a/+", "n", 1, "g", kind=APPLICATION_KIND, target="a.slw"))
    assert groups.members(G) == ()
