"""Observing: what it costs ingest and delivery that somebody looks all the time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bench.brokers import OURS
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_most
from bench.load.fanout import FanoutLoad
from bench.load.ingest import IngestLoad
from bench.load.process import Measured, run
from bench.observers import NOBODY, OBSERVERS
from bench.statistics import median

_LIMIT = 3.0
"""Percent that an observer may cost."""
_ROUNDS = 3
"""Rounds for each round of the run: what is looked for is a small difference."""
_GATEWAY = "gw1"


@dataclass
class Observed:
    """Measurements of one load: by observer, one a round."""

    rounds: dict[str, list[Measured]] = field(default_factory=dict)

    def rate(self, observer: str) -> float:
        """Messages a second, the median."""
        return median(each["messages"] / each["seconds"] for each in self.rounds[observer])

    def cost(self, observer: str) -> float:
        """Percent of the rate that it takes, the median over rounds."""
        return median(
            100.0 * (1 - _rate(seen) / _rate(alone))
            for seen, alone in zip(self.rounds[observer], self.rounds[NOBODY], strict=True)
        )

    def added(self, observer: str) -> float:
        """Percent that it adds to the gateway's CPU for a message, the median over rounds."""
        return median(
            100.0 * (_cpu(seen) / _cpu(alone) - 1)
            for seen, alone in zip(self.rounds[observer], self.rounds[NOBODY], strict=True)
        )


def measure_observing(environment: Environment) -> Result:
    """Ingest and fan-out with nobody who looks, and with each observer, in turn, on one stack."""
    result = Result("observing", "PUBLISH QoS 1 → PUBACK, and fan-out to 500, while somebody looks")
    broker = environment.ours()
    loads: dict[str, Callable[[], object]] = {
        "ingest": lambda: IngestLoad(broker.host, broker.ports[0], environment.seconds, broker.processes),
        "deliveries": lambda: FanoutLoad(
            broker.host, broker.ports[0], broker.ports[0], environment.seconds, broker.processes
        ),
    }
    found = {name: _measure(environment, name, make) for name, make in loads.items()}
    for name, observed in found.items():
        result.figures += _figures(name, observed)
    rates = {f"{name}, {who}": found[name].rate(who) for name in found for who in OBSERVERS}
    result.plots = [Bars(result.title, "messages per second", rates)]
    result.details = {name: observed.rounds for name, observed in found.items()}
    return result


def _measure(environment: Environment, name: str, make: Callable[[], object]) -> Observed:
    observed = Observed({who: [] for who in OBSERVERS})
    stack, patience = environment.stack(), environment.seconds + 120
    run(make(), patience)  # a warm-up
    for number in range(environment.rounds * _ROUNDS):
        # Now one first, now another: who comes later may find a machine that something has warmed or cooled.
        order = list(OBSERVERS) if number % 2 else list(reversed(OBSERVERS))
        for who in order:
            with OBSERVERS[who](stack) as look:
                measured = run(make(), patience, look)
            observed.rounds[who].append(measured)
        one = {who: observed.rounds[who][-1] for who in OBSERVERS}
        told = ", ".join(f"{who} {_rate(measured):,.0f}/s" for who, measured in one.items())
        environment.tell(f"{OURS}, {name}: {told}")
    return observed


def _figures(name: str, observed: Observed) -> list[Figure]:
    figures = [Figure(f"{name}, {who}", observed.rate(who), "msg/s") for who in OBSERVERS]
    for who in OBSERVERS:
        if who != NOBODY:
            figures += [
                Figure(f"{name}: what {who} costs", observed.cost(who), "% of the rate", at_most(_LIMIT)),
                Figure(
                    f"{name}: CPU of the gateway that {who} adds", observed.added(who), "%", at_most(_LIMIT)
                ),
            ]
    return figures


def _rate(measured: Measured) -> float:
    return float(measured["messages"] / measured["seconds"])


def _cpu(measured: Measured) -> float:
    return float(measured["cpu"][_GATEWAY]) / max(int(measured["messages"]), 1)
