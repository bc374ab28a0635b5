"""The authorization bench: its rules allow what it publishes, last of all, and costs are shares of the other run."""

from __future__ import annotations

import pytest

from bench.benches.authorization import RULES, _added, _cost
from bench.load.ingest import IngestLoad, topics_of
from identity.rules import Permissions, check_rules


def test_the_rules_allow_what_is_published_by_the_last_pattern() -> None:
    check_rules(RULES)
    permissions = Permissions(RULES, "ingest-1-0", "user-0")
    for topics in (1, 200):
        for topic in topics_of(IngestLoad("127.0.0.1", 1, 1.0, topics=topics), 7):
            assert permissions.publish(topic) == (RULES.publish or ())[-1]
    assert permissions.publish("bench/other") is None


def test_cost_is_what_is_missing_and_cpu_what_is_added() -> None:
    free = {"messages": 1_000, "seconds": 1.0, "cpu": {"gw": 0.010}}
    ruled = {"messages": 950, "seconds": 1.0, "cpu": {"gw": 0.010}}
    assert _cost(ruled, free) == pytest.approx(5.0)
    assert _cost(free, free) == 0
    assert _added("gw", {0: [ruled], 1: [free]}) == pytest.approx([100 * (1 / 0.95 - 1)])
