"""Which tests share something that takes long to start, and how the processes of `-n` take tests on.

A test on a whole stack mostly waits: for a heartbeat that stays away, a batch that ends, a JVM that starts. So one of
two processes takes these, on one stack at a time, and the other meanwhile takes the others. From three on, two take
those on a stack: one those that need a stack of their own or do harm to theirs, another those that share one.
"""

from __future__ import annotations

from pathlib import Path

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]
_OWN_STACK = "stacks of their own"
_STACK = "the stack"
_ROUTER = "the router's Spark session"
_SINKS = "the sinks' Spark session"
_FIRST = (_OWN_STACK, _STACK, _ROUTER, _SINKS)
"""What takes longest, longest first."""
PLACES = {
    "tests/live/failures/": _OWN_STACK,
    "tests/live/test_spark_cluster.py": _OWN_STACK,
    "tests/bench/chaos/test_run.py": _OWN_STACK,
    "tests/admin/stack/test_sink.py": _OWN_STACK,
    "tests/admin/cli/test_up.py": _OWN_STACK,
    "tests/live/": _STACK,
    "tests/notebooks/": _STACK,
    "tests/admin/stack/test_embedded.py": _STACK,
    "tests/routing/": _ROUTER,
    "tests/sinks/": _SINKS,
    "tests/stores/": "the stores' servers",
    "tests/identity/": "the databases' servers",
}
"""Where tests stand, and what those there share; the first that fits counts."""
_ENOUGH_FOR_TWO_STACKS = 3
"""Processes. Two alone would both want the processor for their stacks, and what waits for neither would come last."""


def shared_by(node_id: str, processes: int) -> str:
    """What a test shares with others, where so many processes run tests; else its file."""
    path = node_id.partition("::")[0]
    shared = next((shared for place, shared in PLACES.items() if path.startswith(place)), path)
    return _STACK if shared == _OWN_STACK and processes < _ENOUGH_FOR_TWO_STACKS else shared


def is_on_a_stack(node_id: str) -> bool:
    """Whether a test stands where those on a whole stack do."""
    return shared_by(node_id, _ENOUGH_FOR_TWO_STACKS) in (_OWN_STACK, _STACK)


def turn(node_id: str, is_live: bool, processes: int) -> int:
    """When a test is taken on, before those with higher numbers: what takes longest first, then what needs Kafka."""
    shared = shared_by(node_id, processes)
    return _FIRST.index(shared) if shared in _FIRST else len(_FIRST) + (not is_live)


class ByWhatIsShared(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps in one process the tests that share something, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return shared_by(nodeid, self.numnodes)

    def schedule(self) -> None:
        """Hand out what was collected first at first; xdist would begin with what has most tests."""
        self.config.option.loadscopereorder = False
        super().schedule()
