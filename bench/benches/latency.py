"""Latency end to end at a steady rate, QoS 1, from one gateway to another; the rollover of batches on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.brokers import OURS, Broker
from bench.environment import BATCH_SECONDS, SMALL_TABLE, Environment
from bench.figures import Figure, Percentiles, Result, Timeline, at_most
from bench.load.latency import LatencyLoad
from bench.load.process import Measured, run
from bench.rollovers import RolloverWatch
from bench.statistics import Rollover, Sample, around, inside, median, percentile

BEFORE, AFTER = 1.5, 6.0
"""Seconds before and after it was written down that count as a rollover: from the markers through the generation that
ends, until the next one has caught up."""
UNTIL_IN_THE_TABLE = 1.5 * BATCH_SECONDS
"""Seconds before measuring: until the router's table has the subscription, its messages are routed in-band."""
_PEER_SECONDS = 10.0


@dataclass(frozen=True)
class LatencyRun:
    """One run, taken apart."""

    samples: list[Sample]
    commits: list[float]
    inside: list[float]
    rollovers: list[Rollover]
    measured: Measured

    @property
    def all(self) -> list[float]:
        """All latencies."""
        return [sample.latency for sample in self.samples]


def measuring_seconds(rollovers: int, batch_seconds: float, after: float) -> float:
    """How long to measure for so many rollovers, each of which is over within `after` seconds."""
    return rollovers * (batch_seconds + after) + 10.0


def run_latency(
    broker: Broker,
    seconds: float,
    watch: RolloverWatch | None = None,
    warm_up: float = 3.0,
    before: float = BEFORE,
    after: float = AFTER,
    is_persistent: bool = False,
) -> LatencyRun:
    """Run the generator on a broker; `watch` tells of rollovers where there are any."""
    load = LatencyLoad(
        broker.host,
        broker.ports[0],
        broker.subscribe_port,
        seconds,
        broker.processes,
        warm_up=warm_up,
        is_persistent=is_persistent,
    )
    measured = run(load, warm_up + seconds + 90, watch.look if watch else lambda: None)
    samples = [Sample(*sample) for sample in measured["samples"]]
    commits: list[float] = []
    if watch:
        watch.look()
        commits = watch.monotonic(measured["wall_minus_monotonic"])
    return LatencyRun(
        samples,
        commits,
        inside(samples, commits, before, after),
        around(samples, commits, before, after),
        measured,
    )


def run_peers(
    environment: Environment, seconds: float = _PEER_SECONDS, *, is_persistent: bool = False
) -> dict[str, LatencyRun | None]:
    """The generator on each peer; None for one that is not installed."""
    runs: dict[str, LatencyRun | None] = {}
    for name, peer in environment.peers().items():
        if peer:
            environment.tell(f"{name} for {seconds:.0f} s")
        runs[name] = run_latency(peer, seconds, is_persistent=is_persistent) if peer else None
    return runs


def details(run: LatencyRun) -> dict[str, Any]:
    """What helps to judge a run."""
    shares = (50.0, 90.0, 99.0, 99.9, 100.0)
    found: dict[str, Any] = {
        f"{name}_ms": {f"p{share:g}": percentile(values, share) * 1e3 for share in shares}
        for name, values in (("all", run.all), ("inside", run.inside))
        if values
    }
    found["rollovers_s"] = [rollover.pause for rollover in run.rollovers]
    for name in ("sent", "acknowledged", "lost", "repeated", "disordered", "latest_send", "cpu"):
        found[name] = run.measured[name]
    return found


def all_details(ours: LatencyRun, peers: dict[str, LatencyRun | None]) -> dict[str, Any]:
    """The same for ours and each peer that ran."""
    return {name: details(run) for name, run in ({OURS: ours} | peers).items() if run}


def curves(ours: LatencyRun, peers: dict[str, LatencyRun | None]) -> dict[str, list[float]]:
    """What a plot of percentiles shows."""
    drawn = {f"{OURS}, all": ours.all, f"{OURS}, inside a batch": ours.inside}
    return drawn | {name: run.all for name, run in peers.items() if run}


def faults(name: str, ours: LatencyRun, peers: dict[str, LatencyRun | None], *keys: str) -> Figure:
    """How many messages had one of these faults; there should be none."""

    def count(run: LatencyRun) -> float:
        return float(sum(run.measured[key] for key in keys))

    theirs = {peer: count(run) if run else None for peer, run in peers.items()}
    return Figure(name, count(ours), "", at_most(0), theirs)


def inside_figures(
    run: LatencyRun,
    peers: dict[str, LatencyRun | None],
    routes: int,
    limits: tuple[float, float] = (6.0, 25.0),
) -> list[Figure]:
    """p50 and p99 inside a batch, with their targets in milliseconds."""
    return [
        Figure(
            f"p{share:g} inside a batch, {routes:,} routes",
            percentile(run.inside, share) * 1e3 if run.inside else None,
            "ms",
            at_most(limit),
            {name: percentile(peer.all, share) * 1e3 if peer else None for name, peer in peers.items()},
        )
        for share, limit in zip((50.0, 99.0), limits, strict=True)
    ]


def rollover_figure(run: LatencyRun, routes: int, limit: float) -> Figure:
    """The pause at a rollover."""
    pauses = [rollover.pause for rollover in run.rollovers]
    note = f"longest {max(pauses):.2f} s of {len(pauses)}" if pauses else "no rollover fell into the run"
    return Figure(
        f"pause at a rollover, {routes:,} routes",
        median(pauses) if pauses else None,
        "s",
        at_most(limit),
        {},
        note,
    )


def measure_latency(environment: Environment) -> Result:
    """200 messages a second over ten rollovers; the peers on their one broker."""
    result = Result("latency", "Latency end to end, 200 msg/s of 256 B, QoS 1")
    broker = environment.ours()
    seconds = measuring_seconds(environment.rollovers, BATCH_SECONDS, AFTER)
    environment.tell(f"gateway 1 → gateway 2 for {seconds:.0f} s, {environment.rollovers} rollovers")
    ours = run_latency(broker, seconds, RolloverWatch(environment.stack().data), UNTIL_IN_THE_TABLE)
    peers = run_peers(environment)
    result.figures += inside_figures(ours, peers, SMALL_TABLE)
    result.figures += [
        rollover_figure(ours, SMALL_TABLE, 1.0),
        Figure(
            f"p99.9 over {len(ours.rollovers)} rollovers",
            percentile(ours.all, 99.9) * 1e3,
            "ms",
            at_most(100.0),
            {name: percentile(peer.all, 99.9) * 1e3 if peer else None for name, peer in peers.items()},
        ),
        faults("messages lost", ours, peers, "lost"),
        faults("messages twice", ours, peers, "repeated"),
        faults("messages out of order", ours, peers, "disordered"),
    ]
    result.plots = [
        Percentiles(result.title, curves(ours, peers), {50.0: 0.006, 99.0: 0.025, 99.9: 0.1}),
        Timeline(f"{result.title}, over time", ours.samples, ours.commits),
    ]
    result.details = all_details(ours, peers)
    return result
