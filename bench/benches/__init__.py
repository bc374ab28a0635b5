"""The benches, one a module, each a function from the environment to a result."""

from __future__ import annotations

from collections.abc import Callable

from bench.benches.administration import measure_administration
from bench.benches.applications import measure_applications
from bench.benches.archive import measure_archive
from bench.benches.authentication import measure_authentication
from bench.benches.authorization import measure_authorization
from bench.benches.backlog import measure_backlog
from bench.benches.connections import measure_connections
from bench.benches.fanout import measure_fanout
from bench.benches.hooks import measure_hooks
from bench.benches.ingest import measure_ingest
from bench.benches.junk import measure_junk
from bench.benches.latency import measure_latency
from bench.benches.latency_large import measure_latency_large
from bench.benches.observing import measure_observing
from bench.benches.offline import measure_offline
from bench.benches.persistent import measure_persistent
from bench.benches.replay import measure_replay
from bench.benches.retained import measure_retained
from bench.benches.router import measure_router
from bench.benches.routes import measure_routes
from bench.benches.stack import measure_stack
from bench.benches.triggers import measure_triggers
from bench.environment import Environment
from bench.figures import Result

BENCHES: dict[str, Callable[[Environment], Result]] = {
    # In this order: those that want a quiet stack before those that leave a backlog behind.
    "latency": measure_latency,
    "persistent": measure_persistent,
    "backlog": measure_backlog,
    "connections": measure_connections,
    "junk": measure_junk,
    "retained": measure_retained,
    "fanout": measure_fanout,
    "ingest": measure_ingest,
    "observing": measure_observing,
    "router": measure_router,
    "triggers": measure_triggers,
    "hooks": measure_hooks,
    "routes": measure_routes,
    "archive": measure_archive,
    "replay": measure_replay,
    "offline": measure_offline,
    "authentication": measure_authentication,
    "authorization": measure_authorization,
    "administration": measure_administration,
    "latency-large": measure_latency_large,
    "applications": measure_applications,
    "stack": measure_stack,
}
"""All benches by name."""
