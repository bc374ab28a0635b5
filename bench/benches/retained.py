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

_IN_VAIN = "SUBSCRIBE that matches none"
_WALKED = "the same, each level's name standing elsewhere"


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
    to_one = {name: median(count / one["to_one"] for one in rounds) for name, rounds in found.items()}
    most = _percentiles(found, "latencies", 99)
    beside = environment.beside
    result.figures = [
        Figure("memory of a retained message", memory[OURS], "B", at_most(3_000.0), beside(memory)),
        _figure(environment, f"{_IN_VAIN}, p50", _percentiles(found, "latencies", 50)),
        _figure(environment, f"{_IN_VAIN}, p99", most, 100.0),
        _figure(environment, f"{_WALKED}, p50", _percentiles(found, "walked", 50)),
        _figure(environment, f"{_WALKED}, p99", _percentiles(found, "walked", 99), 100.0),
        Figure("retained at QoS 1, a window of 500", rates[OURS], "msg/s", None, beside(rates)),
        Figure("all of them to one subscriber, QoS 0", to_one[OURS], "msg/s", None, beside(to_one)),
    ]
    result.plots = [Bars(f"{_IN_VAIN} of 100,000, p99", "ms", most, 100.0)]
    result.details = {name: list(rounds) for name, rounds in found.items()}
    return result


def _percentiles(found: dict[str, list[Measured]], times: str, share: float) -> dict[str, float]:
    """Of all rounds, in milliseconds, by broker."""
    return {
        name: percentile([time for one in rounds for time in one[times]], share) * 1e3
        for name, rounds in found.items()
    }


def _figure(
    environment: Environment, name: str, times: dict[str, float], limit: float | None = None
) -> Figure:
    target = None if limit is None else at_most(limit)
    return Figure(name, times[OURS], "ms", target, environment.beside(times))
