"""Latency and rollover with a million routes. The peers' figures are in the bench `latency`, at the same rate."""

from __future__ import annotations

from bench.benches.latency import (
    details,
    inside_figures,
    measuring_seconds,
    rollover_figure,
    run_latency,
    run_peers,
)
from bench.brokers import broker_of
from bench.environment import Environment
from bench.figures import Figure, Percentiles, Result, Timeline
from bench.processes import resident_bytes
from bench.rollovers import RolloverWatch
from bench.stacks import large_stack

ROUTER_MEMORY = "2g"
_BATCH_SECONDS = 40
_BEFORE, _AFTER = 4.0, 12.0
"""The window of a rollover that may take some seconds."""
_PEER_SECONDS = 5.0


def measure_latency_large(environment: Environment) -> Result:
    """200 messages a second over three rollovers."""
    routes, rollovers = environment.million, min(environment.rollovers, 3)
    result = Result("latency-large", f"Latency end to end, {routes:,} routes")
    environment.stop_stack()
    environment.tell(f"writing {routes:,} routes and starting a stack on them")
    with large_stack(environment.folder / "large", routes, _BATCH_SECONDS, ROUTER_MEMORY) as stack:
        broker = broker_of(stack)
        seconds = measuring_seconds(rollovers, _BATCH_SECONDS, _AFTER)
        environment.tell(f"gateway 1 → gateway 2 for {seconds:.0f} s, {rollovers} rollovers")
        ours = run_latency(broker, seconds, RolloverWatch(stack.data), 2.2 * _BATCH_SECONDS, _BEFORE, _AFTER)
        memory = {name: resident_bytes(pid) / 2**20 for name, pid in broker.processes.items()}
    peers = run_peers(environment, _PEER_SECONDS)
    result.figures = [
        *inside_figures(ours, peers, routes),
        rollover_figure(ours, routes, 3.0),
        Figure("messages lost", float(ours.measured["lost"]), ""),
        Figure("memory of a gateway", memory["gw1"], "MiB"),
        Figure("memory of the router's JVM", memory["router"], "MiB"),
    ]
    result.plots = [
        Percentiles(
            result.title, {"all": ours.all, "inside a batch": ours.inside}, {50.0: 0.006, 99.0: 0.025}
        ),
        Timeline(f"{result.title}, over time", ours.samples, ours.commits),
    ]
    result.details = details(ours) | {"memory_mib": memory}
    return result
