"""Which tests share something that takes long to start, and how the processes of `-n` take tests on.

A test on a whole stack mostly waits: for a heartbeat that stays away, a batch that ends, a JVM that starts. So one
process takes these, on one stack at a time, and another meanwhile takes the others. A second whole stack at the same
time would gain nothing: both would want the processor while they start, and tests would run out of time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

if TYPE_CHECKING:
    pass

ON_A_STACK = "a whole stack"
"""What the tests share that run on Kafka, router, sink, store and gateways, all as processes."""

_SHARING = {
    "tests/live/": ON_A_STACK,
    "tests/notebooks/": ON_A_STACK,
    "tests/bench/chaos/test_run.py": ON_A_STACK,
    "tests/admin/stack/test_embedded.py": ON_A_STACK,
    "tests/admin/stack/test_sink.py": ON_A_STACK,
    "tests/admin/cli/test_up.py": ON_A_STACK,
    "tests/routing/": "the router's Spark session",
    "tests/sinks/": "the sinks' Spark session",
    "tests/stores/": "the stores' servers",
    "tests/identity/": "the databases' servers",
}
"""Where tests stand, and what those there share."""
_FIRST = (ON_A_STACK, "the router's Spark session", "the sinks' Spark session")
"""What takes longest, longest first."""


def shared_by(path: str) -> str:
    """What a test in that file, relative to the root, shares with others; else the file itself."""
    return next((shared for place, shared in _SHARING.items() if path.startswith(place)), path)


def rank(node_id: str, is_live: bool) -> int:
    """Which tests are taken on before which others, where several processes run them; what takes longest is first."""
    shared = shared_by(node_id.partition("::")[0])
    return _FIRST.index(shared) if shared in _FIRST else len(_FIRST) + (not is_live)


class ByWhatIsShared(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps in one process the tests that share something, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return shared_by(nodeid.partition("::")[0])

    def schedule(self) -> None:
        """Hand out what was collected first at first; xdist would begin with what has most tests."""
        self.config.option.loadscopereorder = False
        super().schedule()
