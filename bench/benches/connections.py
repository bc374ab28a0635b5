"""Connections: memory of idle ones, the rate at which they come in, and SUBSCRIBE → SUBACK."""

from __future__ import annotations

from bench.brokers import OURS, Broker
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_least, at_most
from bench.load.connections import ConnectionsLoad
from bench.load.process import LoadError, Measured, run
from bench.load.subscribing import SubscribingLoad
from bench.statistics import median, percentile

_COUNT = 10_000
_FEWER = {"amqtt": 1_000}
"""A peer that takes minutes for ten thousand is measured on fewer; both of its figures are per connection."""


def measure_connections(environment: Environment) -> Result:
    """10,000 idle connections on one gateway, with clean sessions, and again with sessions that outlive them."""
    result = Result("connections", f"{_COUNT:,} idle connections on one gateway")
    idle: dict[str, list[Measured]] = {}
    persistent: dict[str, list[Measured]] = {}
    subacks: dict[str, list[float]] = {}
    for number in range(environment.rounds):
        for name, broker in environment.contenders().items():
            environment.tell(f"round {number + 1}: {name}")
            try:
                idle.setdefault(name, []).append(run(_idle(name, broker), 180))
                kept = run(_idle(name, broker, is_persistent=True), 180)
                persistent.setdefault(name, []).append(kept)
                times = run(SubscribingLoad(broker.host, broker.ports[0]), 120)["latencies"]
                subacks.setdefault(name, []).extend(times)
            except LoadError as error:
                if name == OURS:
                    raise
                environment.tell(f"{name} failed: {error}")
    # Of the first round: later ones find the memory that earlier ones gave back to the process, and need no more.
    memory = {name: found[0]["bytes"] / found[0]["connections"] / 1024 for name, found in idle.items()}
    rates, kept_rates = _rates(idle), _rates(persistent)
    half = {name: percentile(times, 50) * 1e3 for name, times in subacks.items()}
    most = {name: percentile(times, 99) * 1e3 for name, times in subacks.items()}
    cpu = {
        name: median(m["cpu"]["broker"] * 1e6 / m["connections"] for m in found)
        for name, found in idle.items()
    }
    beside = environment.beside
    result.figures = [
        Figure("memory of an idle connection", memory[OURS], "KiB", at_most(15.0), beside(memory)),
        Figure("CONNECT → CONNACK", rates[OURS], "clients/s", at_least(2_000.0), beside(rates)),
        Figure("the same, persistent sessions", kept_rates[OURS], "clients/s", None, beside(kept_rates)),
        Figure("CPU of the gateway for a CONNECT", cpu[OURS], "µs", None, beside(cpu)),
        Figure("SUBSCRIBE → SUBACK, p50", half[OURS], "ms", at_most(6.0), beside(half)),
        Figure("SUBSCRIBE → SUBACK, p99", most[OURS], "ms", None, beside(most)),
    ]
    result.plots = [
        Bars("Memory of an idle connection", "KiB", memory, 15.0),
        Bars("CONNECT rate", "clients per second", rates, 2_000.0),
    ]
    result.details = {"clean": idle, "persistent": persistent}
    return result


def _rates(measured: dict[str, list[Measured]]) -> dict[str, float]:
    return {name: median(m["connections"] / m["seconds"] for m in found) for name, found in measured.items()}


def _idle(name: str, broker: Broker, is_persistent: bool = False) -> ConnectionsLoad:
    count = _FEWER.get(name, _COUNT)
    return ConnectionsLoad(broker.host, broker.ports[0], broker.pid, count, is_persistent=is_persistent)
