"""Ingest: PUBLISH at QoS 1 → PUBACK, that is, durable in Kafka (at the peers: in memory)."""

from __future__ import annotations

from bench.brokers import OURS, Broker
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_least
from bench.load.ingest import IngestLoad
from bench.throughput import Throughput, measure_rounds

_TARGET = 40_000.0
_PAUSED = f"{OURS}, router paused"


def measure_ingest(environment: Environment) -> Result:
    """As many as one gateway takes; once more with the router stopped, which shares the machine with it otherwise."""
    result = Result("ingest", "PUBLISH QoS 1 → PUBACK, 256 B, one gateway")

    def load(broker: Broker) -> IngestLoad:
        return IngestLoad(broker.host, broker.ports[0], environment.seconds, broker.processes)

    found = measure_rounds(environment, environment.contenders(), load)
    stack = environment.stack()
    stack.pause("router")
    try:
        environment.tell("with the router stopped, so that the cores are the gateway's and Kafka's")
        found[_PAUSED] = measure_rounds(environment, {OURS: environment.ours()}, load)[OURS]
    finally:
        stack.resume("router")
    rates = {name: throughput.rate for name, throughput in found.items()}
    ours = found[OURS]
    result.figures = [
        Figure("acknowledged", ours.rate, "msg/s", at_least(_TARGET), environment.beside(rates)),
        Figure("the same, router paused", rates[_PAUSED], "msg/s", None, environment.beside(rates)),
        Figure("CPU of the gateway", ours.cpu["gw1"], "µs/msg", None, environment.beside(broker_cpu(found))),
        Figure("CPU of Kafka", ours.cpu["kafka"], "µs/msg"),
        Figure("CPU of the load generator", ours.cpu["generator"], "µs/msg"),
    ]
    result.plots = [Bars(result.title, "messages acknowledged per second", rates, _TARGET)]
    result.details = {name: {"rates": t.rates, "cpu_us": t.cpu} for name, t in found.items()}
    return result


def broker_cpu(found: dict[str, Throughput]) -> dict[str, float]:
    """CPU a message of each peer's own process."""
    return {name: throughput.cpu[name] for name, throughput in found.items() if name in throughput.cpu}
