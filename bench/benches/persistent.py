"""A persistent subscriber that is connected: latency, what it costs the store, and how much it can be sent."""

from __future__ import annotations

from bench.brokers import OURS, Broker
from bench.environment import Environment
from bench.figures import Bars, Figure, Percentiles, Result, at_least, at_most
from bench.load.burst import BurstLoad
from bench.load.latency import LatencyLoad
from bench.load.process import Measured, run
from bench.statistics import percentile
from bench.store_watch import StoreWatch, difference
from bench.throughput import Throughput, measure_rounds

_SECONDS, _PEER_SECONDS = 60.0, 10.0
_WARM_UP = 25.0
"""Longer than a batch: until the router's table has the subscription, its messages are routed in-band."""
_BURST = 20_000
_DELIVERIES = 10_000.0


def measure_persistent(environment: Environment) -> Result:
    """One persistent subscriber, online: 200 messages a second, then 20,000 as fast as they go."""
    result = Result("persistent", "A persistent subscriber that is online, QoS 1, 256 B")
    contenders = environment.contenders()
    stack = environment.stack()
    latencies: dict[str, Measured] = {}
    for name, broker in contenders.items():
        seconds = _SECONDS * environment.scale if name == OURS else _PEER_SECONDS
        environment.tell(f"{name}: 200 messages a second for {seconds:.0f} s")
        if name != OURS:
            latencies[name] = _latency(broker, seconds, 3.0)
            continue
        assert stack.store is not None  # noqa: S101 - the shared stack has one
        with StoreWatch(stack.store, stack.kafka) as watch:
            before = watch.commands()
            latencies[name] = _latency(broker, seconds, _WARM_UP)
            commands = difference(watch.commands(), before)
    bursts = measure_rounds(environment, contenders, lambda broker: _burst(environment, broker))
    result.figures = [
        *_latency_figures(environment, latencies),
        _operations(commands, latencies[OURS]["sent"]),
        *_burst_figures(environment, bursts),
    ]
    rates = {name: found.rate for name, found in bursts.items()}
    curves = {name: _values(measured) for name, measured in latencies.items()}
    result.plots = [
        Percentiles(f"{result.title}: latency", curves, {50.0: 0.010, 99.0: 0.030}),
        Bars(
            f"{_BURST:,} messages to one persistent subscriber", "deliveries per second", rates, _DELIVERIES
        ),
    ]
    result.details = {
        "store commands": commands,
        "latency": {
            name: {
                key: found[key] for key in ("sent", "acknowledged", "lost", "repeated", "disordered", "cpu")
            }
            for name, found in latencies.items()
        },
        "burst": {name: {"rates": found.rates, "cpu_us": found.cpu} for name, found in bursts.items()},
    }
    return result


def _latency(broker: Broker, seconds: float, warm_up: float) -> Measured:
    load = LatencyLoad(
        broker.host, broker.ports[0], broker.subscribe_port, seconds, broker.processes, warm_up=warm_up,
        is_persistent=True,
    )  # fmt: skip
    return run(load, warm_up + seconds + 90)


def _burst(environment: Environment, broker: Broker) -> BurstLoad:
    messages = int(_BURST * environment.scale)
    return BurstLoad(broker.host, broker.ports[0], broker.subscribe_port, broker.processes, messages)


def _values(measured: Measured) -> list[float]:
    return [latency for _, latency in measured["samples"]]


def _latency_figures(environment: Environment, found: dict[str, Measured]) -> list[Figure]:
    figures = []
    for share, limit in ((50.0, 10.0), (99.0, 30.0)):
        values = {name: percentile(_values(measured), share) * 1e3 for name, measured in found.items()}
        figures.append(
            Figure(
                f"p{share:g} end to end, 200 msg/s, rollovers included",
                values[OURS],
                "ms",
                at_most(limit),
                environment.beside(values),
            )
        )
    wrong = {name: float(m["lost"] + m["repeated"] + m["disordered"]) for name, m in found.items()}
    theirs = environment.beside(wrong)
    return [*figures, Figure("lost, twice or out of order", wrong[OURS], "", at_most(0), theirs)]


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
