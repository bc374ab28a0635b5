"""Retained messages: memory of each, and how long SUBSCRIBE takes beside a hundred thousand that it does not match."""

from __future__ import annotations

from bench.brokers import OURS
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_most
from bench.load.process import Measured, run
from bench.load.retained import RetainedLoad
from bench.statistics import median, percentile

_COUNT = 100_000
_PEERS = (OURS, "mosquitto")
"""amqtt looks at every retained message for every subscription: it would take the run's time for itself."""


def measure_retained(environment: Environment) -> Result:
    """100,000 retained messages: memory, a wildcard that matches none, and all of them to one subscriber."""
    count = int(_COUNT * environment.scale)
    result = Result("retained", f"{count:,} retained messages of 64 B, one gateway")
    found: dict[str, list[Measured]] = {}
    for number in range(environment.rounds):
        for name, broker in environment.contenders().items():
            if name in _PEERS:
                environment.tell(f"round {number + 1}: {name}")
                load = RetainedLoad(broker.host, broker.ports[0], broker.pid, count)
                found.setdefault(name, []).append(run(load, 300))
    # Of the first round: later ones find the memory that earlier ones gave back to the process, and need no more.
    memory = {name: rounds[0]["bytes"] / count for name, rounds in found.items()}
    rates = {name: median(count / one["seconds"] for one in rounds) for name, rounds in found.items()}
    times = {name: [t for one in rounds for t in one["latencies"]] for name, rounds in found.items()}
    half = {name: percentile(one, 50) * 1e3 for name, one in times.items()}
    most = {name: percentile(one, 99) * 1e3 for name, one in times.items()}
    to_one = {name: median(count / one["to_one"] for one in rounds) for name, rounds in found.items()}
    beside = environment.beside
    result.figures = [
        Figure("memory of a retained message", memory[OURS], "B", at_most(3_000.0), beside(memory)),
        Figure("SUBSCRIBE that matches none, p50", half[OURS], "ms", None, beside(half)),
        Figure("SUBSCRIBE that matches none, p99", most[OURS], "ms", at_most(100.0), beside(most)),
        Figure("retained at QoS 1, a window of 500", rates[OURS], "msg/s", None, beside(rates)),
        Figure("all of them to one subscriber, QoS 0", to_one[OURS], "msg/s", None, beside(to_one)),
    ]
    result.plots = [Bars("SUBSCRIBE that matches none of 100,000, p99", "ms", most, 100.0)]
    result.details = {name: list(rounds) for name, rounds in found.items()}
    return result
