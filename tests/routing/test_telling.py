"""What is told of a router's life."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from contracts.kafka_topics import KafkaTopics
from contracts.topics import Shape
from routing.chronicle import RESTARTING, ROLLING_OVER, RUNNING, STARTING, Chronicle
from routing.errors import CheckpointError
from routing.generations import Generation
from routing.supervision import QueryPlan, Supervisor
from routing.telling import describe


def supervisor(folder: Path) -> Supervisor:
    return Supervisor(
        start=lambda _: pytest.fail("nothing is to be started"), started=lambda: None, kafka="127.0.0.1:1",
        topics=KafkaTopics(), snapshot_dir=folder, checkpoint=str(folder), rollover_seconds=60.0,
    )  # fmt: skip


def test_rollovers_and_failures() -> None:
    chronicle = Chronicle()
    assert str(chronicle.state) == STARTING
    chronicle.query_started()
    assert chronicle.generation_started_at_ms > 0
    chronicle.enter(RUNNING)
    chronicle.rollover_began()
    states = [chronicle.state]
    chronicle.rollover_ended(None)
    assert states == [ROLLING_OVER]
    took = [chronicle.last_rollover_ms]
    assert (chronicle.state, chronicle.postponed_rollovers, chronicle.rollovers) == (RUNNING, 1, 0)
    chronicle.rollover_began()
    chronicle.rollover_ended({0: 5, 1: 6})
    assert (chronicle.rollovers, chronicle.routed) == (1, {0: 5, 1: 6})
    took.append(chronicle.last_rollover_ms)
    assert [ms is None for ms in took] == [True, False]
    chronicle.query_ended("it broke")
    assert (chronicle.state, chronicle.restarts, chronicle.last_failure) == (RESTARTING, 1, "it broke")
    assert chronicle.changed.is_set()


def test_what_spark_says_of_its_progress() -> None:
    chronicle = Chronicle()
    for nothing in (
        None,
        SimpleNamespace(sources=[]),
        SimpleNamespace(sources=[SimpleNamespace(endOffset=None)]),
    ):
        chronicle.progressed(nothing, "tbmq.msg.all")
    assert chronicle.routed == {}
    ends = SimpleNamespace(endOffset='{"tbmq.msg.all":{"1":7,"0":5}}')
    chronicle.progressed(SimpleNamespace(sources=[ends]), "tbmq.msg.all")
    assert chronicle.routed == {0: 5, 1: 7}


def test_a_description(tmp_path: Path) -> None:
    router = supervisor(tmp_path)
    router.plan = QueryPlan(
        frozenset({Shape(1, (0,), False)}), frozenset({"b", "a"}), generation=Generation(4, {1: 8, 0: 9})
    )
    router.missing = frozenset({"a"})
    state = describe(router, "realtime")()
    assert (state.state, state.trigger, state.rollover_seconds) == ("starting", "realtime", 60.0)
    assert (state.generation, state.shapes, state.quarantine, state.missing) == (4, 1, ("a", "b"), ("a",))
    assert state.routed == (9, 8)
    router.chronicle.routed = {0: 10, 1: 11}
    assert describe(router, "realtime")().routed == (10, 11)


def test_what_a_router_dies_of_is_told(tmp_path: Path) -> None:
    (tmp_path / "generation.json").write_text("no JSON")
    router = supervisor(tmp_path)
    with pytest.raises(CheckpointError):
        router.run()
    state = describe(router, "realtime")()
    assert state.state == "failed"
    assert "generation.json" in (state.last_failure or "")
