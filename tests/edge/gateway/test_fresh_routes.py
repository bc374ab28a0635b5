"""FreshRoutes against a plain model: what was added and not pruned, matched by the oracle."""

from hypothesis import given
from hypothesis import strategies as st

from contracts.publish_record import RouteHit
from contracts.topics import matches
from edge.gateway.fresh_routes import FreshRoutes

FILTERS = st.sampled_from(["a/b", "a/+", "a/#", "+/b", "#", "b", "$SYS/#", "+/+/c"])
TOPICS = st.sampled_from(["a/b", "a", "b", "$SYS/x", "a/b/c", "x/y/c"])
NODES = st.sampled_from(["gw1", "gw2"])
ADDS = st.tuples(st.just("add"), st.integers(0, 1), FILTERS, NODES)
PRUNES = st.tuples(st.just("prune"), st.integers(0, 1), st.integers(0, 40), st.none())


@given(steps=st.lists(st.one_of(ADDS, PRUNES), max_size=40), topic=TOPICS)
def test_agrees_with_a_plain_model(steps: list[tuple[str, int, object, object]], topic: str) -> None:
    fresh, rows = FreshRoutes(), []
    for offset, (what, partition, subject, node) in enumerate(steps):
        if what == "add":
            # One filter stands in one partition only, as subscription_partition has it.
            place = hash(subject) % 2
            fresh.add(place, offset, str(subject), str(node))
            rows.append((place, offset, str(subject), str(node)))
        else:
            assert isinstance(subject, int)
            fresh.prune(partition, subject)
            rows = [row for row in rows if row[0] != partition or row[1] >= subject]
    expected = {RouteHit(filter, str(node)) for _, _, filter, node in rows if matches(filter, topic)}
    found = fresh.match(topic)
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert len(fresh) == len({(filter, node) for _, _, filter, node in rows})


def test_pruning_everything_leaves_nothing_behind() -> None:
    fresh = FreshRoutes()
    for offset in range(100):
        fresh.add(0, offset, f"a/{offset % 7}/+", "gw1")
    fresh.prune(0, 100)
    assert (len(fresh), fresh.partitions, fresh.match("a/1/x")) == (0, [], [])
    assert fresh.__dict__ == FreshRoutes().__dict__ | {"_by_age": fresh.__dict__["_by_age"]}


def test_a_renewed_route_outlives_its_older_record() -> None:
    fresh = FreshRoutes()
    fresh.add(0, 1, "a", "gw1")
    fresh.add(0, 5, "a", "gw1")
    fresh.prune(0, 5)
    assert fresh.match("a") == [RouteHit("a", "gw1")]
