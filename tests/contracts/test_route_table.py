"""Which routes a subscription makes, and which of them a message takes."""

import pytest

from contracts.route_table import APP, APPSHARE, DEVICE, NODE, NODE0, PERSISTED, SHARE, routes_of, takes
from contracts.subscription_record import SubscriptionRecord

KINDS = (NODE, NODE0, *PERSISTED, SHARE, APPSHARE, "other")


@pytest.mark.parametrize(
    ("record", "routes"),
    [
        (SubscriptionRecord("c", "a", "n", 0), ((NODE, "n"),)),
        (SubscriptionRecord("c", "a", "n", 2), ((NODE, "n"),)),
        (SubscriptionRecord("c", "a", "n", 0, kind="device"), ((NODE, "n"),)),
        (SubscriptionRecord("c", "a", "n", 1, kind="device"), ((NODE0, "n"), (DEVICE, "c"))),
        (SubscriptionRecord("c", "a", "n", 2, kind="device"), ((NODE0, "n"), (DEVICE, "c"))),
        (SubscriptionRecord("c", "a", "n", 0, kind="app", target="t"), ((NODE, "n"),)),
        (SubscriptionRecord("c", "a", "n", 1, kind="app", target="t"), ((NODE0, "n"), (APP, "t"))),
        (SubscriptionRecord("c", "a", "n", 1, kind="app"), ((NODE0, "n"),)),
        (SubscriptionRecord("c", "a", "n", 1, "group"), ((SHARE, "group"),)),
        (SubscriptionRecord("c", "a", "n", 1, "group", kind="app", target="t"), ((APPSHARE, "t"),)),
        (SubscriptionRecord("c", "a", "n", 0, "group", kind="app", target="t"), ((APPSHARE, "t"),)),
        (SubscriptionRecord("c", "a", "n", 1, "group", kind="app"), ()),
        (SubscriptionRecord("c", "a", "n", 1, "group", kind="device"), ((SHARE, "group"),)),
        (SubscriptionRecord("c", "a", "n", 1, "group", online=False), ((SHARE, "group"),)),
        (SubscriptionRecord("c", "a", "n", 1, "group", kind="other"), ()),
        (SubscriptionRecord("c", "a", "n", 1, kind="other"), ()),
        (SubscriptionRecord("c", "$exclusive/a", "n", 0), ()),
        (SubscriptionRecord("c", "$exclusive/a", "n", 1, kind="device"), ()),
        (SubscriptionRecord("c", "$exclusive/a", "n", 1, "group"), ()),
    ],
)
def test_routes_of_a_subscription(record: SubscriptionRecord, routes: tuple[tuple[str, str], ...]) -> None:
    assert routes_of(record) == routes


def test_which_messages_take_a_route() -> None:
    taken = {kind: [qos for qos in range(3) if takes(kind, qos)] for kind in KINDS}
    assert taken == {
        NODE: [0, 1, 2], NODE0: [0], DEVICE: [1, 2], APP: [1, 2], SHARE: [0, 1, 2],
        APPSHARE: [0, 1, 2], "other": [],
    }  # fmt: skip


@pytest.mark.parametrize("subscribed", range(3))
@pytest.mark.parametrize("published", range(3))
@pytest.mark.parametrize("kind", PERSISTED)
def test_a_persistent_client_is_reached_one_way(subscribed: int, published: int, kind: str) -> None:
    """By its gateway or by the log, never by both or none: the log exactly where the effective QoS is 1 or 2."""
    record = SubscriptionRecord("c", "a", "n", subscribed, kind=kind, target="t")
    ways = [kind for kind, _ in routes_of(record) if takes(kind, published)]
    assert len(ways) == 1
    assert (ways[0] == kind) is (min(subscribed, published) > 0)
