"""A healthy client's round trip on a gateway, quiet, and while 500 connections send it junk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from bench.benches.latency import LatencyRun, details, run_latency
from bench.brokers import OURS, Broker
from bench.environment import BATCH_SECONDS, Environment
from bench.figures import Figure, Percentiles, Result, at_most
from bench.load.junk import JunkLoad
from bench.load.process import LoadError, Measured, run
from bench.rollovers import RolloverWatch
from bench.statistics import percentile

_CONNECTIONS = 500
_SECONDS = 2.0 * BATCH_SECONDS
"""Of one run: in each, a rollover or two falls out of the count."""
_WARM_UP = 5.0


def measure_junk(environment: Environment) -> Result:
    """200 messages a second to and from one gateway, without and with junk on 500 connections to it."""
    result = Result("junk", f"A healthy client beside {_CONNECTIONS} connections that send junk")
    seconds = max(5.0, _SECONDS * environment.scale)
    quiet: dict[str, LatencyRun] = {}
    noisy: dict[str, LatencyRun] = {}
    junk: dict[str, Measured] = {}
    for name, broker in environment.contenders().items():
        one = replace(broker, ports=broker.ports[:1])
        watch = RolloverWatch(environment.stack().data) if name == OURS else None
        environment.tell(f"{name}: without junk, then with it, {seconds:.0f} s each")
        try:
            quiet[name] = run_latency(one, seconds, watch, _WARM_UP)
            noisy[name], junk[name] = _beside_junk(one, seconds, watch)
        except LoadError as error:
            if name == OURS:
                raise
            environment.tell(f"{name} failed: {error}")
    cpu = {
        name: _cpu_of_each(broker, quiet[name].measured, junk[name])
        for name, broker in environment.contenders().items()
        if name in noisy
    }
    result.figures = [
        _figure(environment, "p99 round trip, quiet", quiet, 99.0),
        _figure(environment, "p50 round trip beside junk", noisy, 50.0),
        _figure(environment, "p99 round trip beside junk", noisy, 99.0, 100.0),
        _count(
            environment,
            "messages lost beside junk",
            {name: run.measured["lost"] for name, run in noisy.items()},
        ),
        Figure(
            "CPU of the broker for each junk connection",
            cpu[OURS],
            "ms",
            None,
            environment.beside(cpu),
            "of ours: of the gateway that is sent it",
        ),
        Figure(
            "junk connections that it ended itself",
            _share(junk[OURS]),
            "%",
            None,
            environment.beside({name: _share(one) for name, one in junk.items()}),
            "half a packet may wait for its rest, up to the connect timeout or the keep alive",
        ),
    ]
    curves = {f"{name}, quiet": run.all for name, run in quiet.items()}
    curves |= {f"{name}, beside junk": run.inside if name == OURS else run.all for name, run in noisy.items()}
    result.plots = [Percentiles(result.title, curves, {99.0: 0.1})]
    result.details = {
        name: {"quiet": details(quiet[name]), "beside junk": details(noisy[name]), "junk": junk[name]}
        for name in noisy
    }
    return result


def _beside_junk(broker: Broker, seconds: float, watch: RolloverWatch | None) -> tuple[LatencyRun, Measured]:
    """The round trips, while another process sends junk from their warm-up on."""
    load = JunkLoad(broker.host, broker.ports[0], _WARM_UP + seconds, _CONNECTIONS, watch=broker.processes)
    with ThreadPoolExecutor(1) as beside:
        junk = beside.submit(run, load, _WARM_UP + seconds + 60)
        healthy = run_latency(broker, seconds, watch, _WARM_UP)
        return healthy, junk.result()


def _figure(
    environment: Environment, name: str, runs: dict[str, LatencyRun], share: float, limit: float | None = None
) -> Figure:
    """A percentile, ours of what fell inside a batch."""
    found = {
        broker: percentile(run.inside if broker == OURS and run.inside else run.all, share) * 1e3
        for broker, run in runs.items()
    }
    target = None if limit is None else at_most(limit)
    return Figure(name, found[OURS], "ms", target, environment.beside(found))


def _count(environment: Environment, name: str, counts: dict[str, float]) -> Figure:
    return Figure(name, float(counts[OURS]), "", at_most(0), environment.beside(counts))


def _share(junk: Measured) -> float:
    ended, opened = int(junk["ended_by_broker"]), int(junk["opened"])
    return 100.0 * ended / max(1, opened)


def _cpu_of_each(broker: Broker, quiet: Measured, junk: Measured) -> float:
    """Milliseconds that the process which serves the first port used for a connection, beyond what it used without."""
    name = next(name for name, pid in broker.processes.items() if pid == broker.pid)
    # Both were read over the warm-up and what is measured.
    spent = junk["cpu"][name] - quiet["cpu"][name]
    return 1e3 * float(spent) / max(1, int(junk["opened"]))
