"""Throughput: rounds of one measurement, ours and the peers' in turn, so that all see the same neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.brokers import Broker
from bench.environment import Environment
from bench.load.process import Measured, run
from bench.statistics import median


@dataclass(frozen=True)
class Throughput:
    """What the rounds gave for one broker."""

    rates: list[float]
    """Messages a second, of each round."""
    cpu: dict[str, float]
    """CPU microseconds a message, by process; the generator's is among them."""
    rounds: list[Measured]

    @property
    def rate(self) -> float:
        """The median."""
        return median(self.rates)


def measure_rounds(
    environment: Environment, brokers: dict[str, Broker], make_load: Callable[[Broker], object]
) -> dict[str, Throughput]:
    """Measure each broker as often as the environment says."""
    rounds: dict[str, list[Measured]] = {name: [] for name in brokers}
    for number in range(environment.rounds):
        for name, broker in brokers.items():
            measured = run(make_load(broker), environment.seconds + 120)
            rounds[name].append(measured)
            rate = measured["messages"] / measured["seconds"]
            environment.tell(f"round {number + 1}: {name} {rate:,.0f}/s")
    return {name: _of_rounds(found) for name, found in rounds.items()}


def _of_rounds(rounds: list[Measured]) -> Throughput:
    def cpu(process: str) -> float:
        return median(round["cpu"][process] * 1e6 / max(round["messages"], 1) for round in rounds)

    rates = [round["messages"] / round["seconds"] for round in rounds]
    return Throughput(rates, {process: cpu(process) for process in rounds[0]["cpu"]}, rounds)
