"""Fan-out: one publisher, 500 subscribers on the same gateway, QoS 0, through Kafka and the router."""

from __future__ import annotations

from bench.benches.ingest import broker_cpu
from bench.brokers import OURS, Broker
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_least, at_most
from bench.load.fanout import FanoutLoad
from bench.throughput import measure_rounds

_TARGET = 100_000.0


def measure_fanout(environment: Environment) -> Result:
    """As many deliveries as one gateway makes."""
    result = Result("fanout", "Fan-out to 500 subscribers, QoS 0, 64 B, one gateway")

    def load(broker: Broker) -> FanoutLoad:
        return FanoutLoad(
            broker.host, broker.ports[0], broker.ports[0], environment.seconds, broker.processes
        )

    found = measure_rounds(environment, environment.contenders(), load)
    rates = {name: throughput.rate for name, throughput in found.items()}
    lost = {name: float(sum(round["lost"] for round in t.rounds)) for name, t in found.items()}
    ours = found[OURS]
    result.figures = [
        Figure("deliveries", ours.rate, "msg/s", at_least(_TARGET), environment.beside(rates)),
        Figure(
            "CPU of the gateway", ours.cpu["gw1"], "µs/delivery", None, environment.beside(broker_cpu(found))
        ),
        Figure("CPU of the load generator", ours.cpu["generator"], "µs/delivery"),
        Figure("messages not delivered to all", lost[OURS], "", at_most(0), environment.beside(lost)),
    ]
    result.plots = [Bars(result.title, "deliveries per second", rates, _TARGET)]
    result.details = {name: {"rates": t.rates, "cpu_us": t.cpu} for name, t in found.items()}
    return result
