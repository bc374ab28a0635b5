"""FreshRoutes against a plain model: what was added and not pruned, matched by the oracle."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contracts.publish_record import RouteHit, routes_header
from contracts.route_table import APP, DEVICE, NODE, NODE0, routes_of, takes
from contracts.subscription_record import SubscriptionRecord
from contracts.topics import matches
from edge.gateway.fresh_routes import FreshRoutes

FILTERS = st.sampled_from(["a/b", "a/+", "a/#", "+/b", "#", "b", "$SYS/#", "+/+/c"])
TOPICS = st.sampled_from(["a/b", "a", "b", "$SYS/x", "a/b/c", "x/y/c"])
TARGETS = st.sampled_from(
    [(NODE, "gw1"), (NODE, "gw2"), (NODE0, "gw1"), (NODE0, "gw2"), (DEVICE, "gw1"), (DEVICE, "c"), (APP, "c")]
)
ADDS = st.tuples(st.just("add"), st.integers(0, 1), FILTERS, TARGETS)
ENDS = st.tuples(st.just("end"), st.sampled_from(["c", "gw1"]), FILTERS, st.none())
PRUNES = st.tuples(st.just("prune"), st.integers(0, 1), st.integers(0, 40), st.none())


@given(steps=st.lists(st.one_of(ADDS, ENDS, PRUNES), max_size=40), topic=TOPICS, qos=st.integers(0, 2))
def test_agrees_with_a_plain_model(steps: list[tuple[str, int, Any, Any]], topic: str, qos: int) -> None:
    fresh, rows = FreshRoutes(), []
    for offset, (what, partition, subject, target) in enumerate(steps):
        if what == "add":
            # One filter stands in one partition only, as subscription_partition has it.
            place = hash(subject) % 2
            kind, node = target
            fresh.add(place, offset, subject, node, kind)
            rows.append((place, offset, subject, node, kind))
        elif what == "end":
            client_id = str(partition)
            fresh.end(client_id, subject)
            own = [(subject, client_id, DEVICE), (subject, client_id, APP)]
            rows = [row for row in rows if row[2:] not in own]
        else:
            fresh.prune(partition, subject)
            rows = [row for row in rows if row[0] != partition or row[1] >= subject]
        before = fresh.header(topic, qos)  # What it remembers must not outlive the next step.
        assert before == (routes_header(now) if (now := fresh.match(topic, qos)) else None)
    hits = {RouteHit(filter, node, kind) for _, _, filter, node, kind in rows}
    taken = {hit for hit in hits if matches(hit.filter, topic) and takes(hit.kind, qos)}
    found = fresh.match(topic, qos)
    assert len(found) == len(set(found))
    # Where a gateway gets all messages of a filter, that it gets those of QoS 0 needs not be said.
    assert set(found) == {
        hit for hit in taken if hit.kind != NODE0 or RouteHit(hit.filter, hit.node, NODE) not in hits
    }
    assert len(fresh) == len(hits)


def test_both_routes_of_a_persistent_client_are_pruned_together() -> None:
    fresh = FreshRoutes()
    for kind, target in routes_of(SubscriptionRecord("c", "a/+", "gw1", 1, kind="device")):
        fresh.add(0, 3, "a/+", target, kind)
    assert fresh.match("a/b", 0) == [RouteHit("a/+", "gw1", NODE0)]
    assert fresh.match("a/b", 2) == [RouteHit("a/+", "c", DEVICE)]
    fresh.prune(0, 3)
    assert len(fresh) == 2
    fresh.prune(0, 4)
    assert len(fresh) == 0


def test_a_client_whose_subscription_ends_costs_nothing_more() -> None:
    fresh = FreshRoutes()
    for number in range(1_000):
        client = f"c-{number}"
        for kind, target in routes_of(SubscriptionRecord(client, "a/+", "gw1", 1, kind="device")):
            fresh.add(0, number, "a/+", target, kind)
        fresh.end(client, "a/+")
    assert fresh.match("a/b", 1) == []
    assert fresh.match("a/b", 0) == [RouteHit("a/+", "gw1", NODE0)]
    fresh.prune(0, 1_000)
    assert len(fresh) == 0


def test_pruning_everything_leaves_nothing_behind() -> None:
    fresh = FreshRoutes()
    for offset in range(100):
        fresh.add(0, offset, f"a/{offset % 7}/+", "gw1")
    fresh.prune(0, 100)
    assert (len(fresh), fresh.partitions, fresh.match("a/1/x", 1)) == (0, [], [])
    assert fresh.__dict__ == FreshRoutes().__dict__ | {"_by_age": fresh.__dict__["_by_age"]}


def test_a_renewed_route_outlives_its_older_record() -> None:
    fresh = FreshRoutes()
    fresh.add(0, 1, "a", "gw1")
    fresh.add(0, 5, "a", "gw1")
    fresh.prune(0, 5)
    assert fresh.match("a", 1) == [RouteHit("a", "gw1")]
