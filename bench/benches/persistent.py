"""A persistent subscriber that is connected: latency, what it costs the store, and how much it can be sent."""

from __future__ import annotations

from bench.benches.latency import (
    UNTIL_IN_THE_TABLE,
    all_details,
    curves,
    faults,
    inside_figures,
    run_latency,
    run_peers,
)
from bench.brokers import OURS, Broker
from bench.environment import BATCH_SECONDS, BURST, SMALL_TABLE, Environment
from bench.figures import Bars, Figure, Percentiles, Result, at_least, at_most
from bench.load.burst import BurstLoad
from bench.rollovers import RolloverWatch
from bench.statistics import percentile
from bench.store_watch import StoreWatch, difference
from bench.throughput import Throughput, measure_rounds

_SECONDS = 60.0
_DELIVERIES = 10_000.0


def measure_persistent(environment: Environment) -> Result:
    """One persistent subscriber, online: 200 messages a second, then 20,000 as fast as they go."""
    result = Result("persistent", "A persistent subscriber that is online, QoS 1, 256 B")
    contenders = environment.contenders()
    stack = environment.stack()
    seconds = _SECONDS * environment.scale
    environment.tell(f"{OURS}: 200 messages a second for {seconds:.0f} s")
    assert stack.store is not None  # noqa: S101 - the shared stack has one
    with StoreWatch(stack.store, stack.kafka) as watch:
        before = watch.commands()
        ours = run_latency(
            contenders[OURS], seconds, RolloverWatch(stack.data), UNTIL_IN_THE_TABLE, is_persistent=True
        )
        commands = difference(watch.commands(), before)
    peers = run_peers(environment, is_persistent=True)
    bursts = measure_rounds(environment, contenders, lambda broker: _burst(environment, broker))
    result.figures = [
        *inside_figures(ours, peers, SMALL_TABLE, (10.0, 30.0)),
        Figure(
            f"p99 with the rollovers of batches of {BATCH_SECONDS} s", percentile(ours.all, 99.0) * 1e3, "ms"
        ),
        faults("lost, twice or out of order", ours, peers, "lost", "repeated", "disordered"),
        _operations(commands, ours.measured["sent"]),
        *_burst_figures(environment, bursts),
    ]
    rates = {name: found.rate for name, found in bursts.items()}
    result.plots = [
        Percentiles(f"{result.title}: latency", curves(ours, peers), {50.0: 0.010, 99.0: 0.030}),
        Bars(f"{BURST:,} messages to one persistent subscriber", "deliveries per second", rates, _DELIVERIES),
    ]
    result.details = {
        "store commands": commands,
        "latency": all_details(ours, peers),
        "burst": {name: {"rates": found.rates, "cpu_us": found.cpu} for name, found in bursts.items()},
    }
    return result


def _burst(environment: Environment, broker: Broker) -> BurstLoad:
    messages = int(BURST * environment.scale)
    return BurstLoad(broker.host, broker.ports[0], broker.subscribe_port, broker.processes, messages)


def _operations(commands: dict[str, int], messages: int) -> Figure:
    most = sorted(commands.items(), key=lambda item: -item[1])[:4]
    note = "most: " + ", ".join(f"{name} {calls:,}" for name, calls in most)
    value = sum(commands.values()) / messages
    return Figure("store operations per message", value, "", at_most(0.2), {}, note)


def _burst_figures(environment: Environment, found: dict[str, Throughput]) -> list[Figure]:
    rates = {name: throughput.rate for name, throughput in found.items()}
    lost = {name: float(sum(one["lost"] for one in t.rounds)) for name, t in found.items()}
    ours, beside = found[OURS], environment.beside
    return [
        Figure("delivered, all at once", rates[OURS], "msg/s", at_least(_DELIVERIES), beside(rates)),
        Figure("CPU of the subscriber's gateway", ours.cpu["gw2"], "µs/msg"),
        Figure("CPU of Kafka", ours.cpu["kafka"], "µs/msg"),
        Figure("CPU of the router", ours.cpu["router"], "µs/msg"),
        Figure("not delivered within a minute", lost[OURS], "", at_most(0), beside(lost)),
    ]
