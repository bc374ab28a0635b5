"""Subscribers that come back: how fast a backlog is delivered, and how soon its first message is there."""

from __future__ import annotations

import os
from dataclasses import replace

from bench.brokers import OURS, Broker
from bench.environment import Environment
from bench.figures import Bars, Figure, Percentiles, Result, at_least, at_most
from bench.load.backlog import BacklogLoad
from bench.load.process import LoadError, Measured, run
from bench.statistics import median, percentile
from bench.store_watch import StoreWatch

_BACKLOG = 10_000
"""Messages for one client; as many as the store keeps for it."""
_RATE = 14_000.0
_CLIENTS, _EACH = 200, 10
_SECONDS_TO_STORE = 120.0


def measure_backlog(environment: Environment) -> Result:
    """10,000 messages for one client, then 10 for each of 200."""
    result = Result("backlog", "Persistent subscribers that come back, QoS 1, 256 B")
    backlog, clients = int(_BACKLOG * environment.scale), int(_CLIENTS * environment.scale)
    large: dict[str, list[Measured]] = {}
    contenders = environment.contenders()
    for number in range(environment.rounds):
        for name, drained in _measure_all(environment, contenders, 1, backlog).items():
            large.setdefault(name, []).append(drained)
            environment.tell(f"round {number + 1}: {name} {backlog / drained['whole'][0]:,.0f}/s")
        contenders = {name: contenders[name] for name in large}  # The others keep nothing.
    environment.tell(f"{clients} clients return, one after the other")
    small = _measure_all(environment, contenders, clients, _EACH)
    rates = {name: median(backlog / m["whole"][0] for m in found) for name, found in large.items()}
    first = {name: percentile(found["first"], 95) for name, found in small.items()}
    half = {name: percentile(found["first"], 50) for name, found in small.items()}

    def beside(values: dict[str, float]) -> dict[str, float | None]:
        # A peer that keeps nothing for clients that are away has no figure, though it is installed.
        installed = environment.contenders()
        theirs = environment.beside(values)
        return {name: value for name, value in theirs.items() if name in values or name not in installed}

    result.figures = [
        Figure(
            f"backlog of {backlog:,}, from the connection on",
            rates[OURS],
            "msg/s",
            at_least(_RATE),
            beside(rates),
        ),
        Figure("connection → first stored message, p95", first[OURS], "s", at_most(1.0), beside(first)),
        Figure("connection → first stored message, p50", half[OURS], "s", None, beside(half)),
    ]
    curves = {name: found["first"] for name, found in small.items()}
    result.plots = [
        Bars(f"A backlog of {backlog:,} on return", "deliveries per second", rates, _RATE),
        Percentiles("Connection to first stored message", curves, {95.0: 1.0}),
    ]
    result.details = {"backlog": large, "first message": small}
    return result


def _measure_all(
    environment: Environment, contenders: dict[str, Broker], clients: int, messages: int
) -> dict[str, Measured]:
    """What each broker's clients found on their return; a peer that has lost it is left out."""
    found = {}
    for name, broker in contenders.items():
        try:
            found[name] = _measure(environment, broker, clients, messages)
        except LoadError as error:
            if name == OURS:
                raise
            environment.tell(f"{name} failed: {error}")
    return found


_numbers = iter(range(1_000_000))


def _measure(environment: Environment, broker: Broker, clients: int, messages: int) -> Measured:
    """Fill and drain. Ours fills by way of the first gateway and returns to it, having been at the other."""
    name = f"b{os.getpid()}-{next(_numbers):03d}"
    load = BacklogLoad(
        "fill", broker.host, broker.ports[0], broker.subscribe_port, name, clients, messages,
        watch=broker.processes,
    )  # fmt: skip
    run(load, 180)
    if broker.name == OURS:
        stack = environment.stack()
        assert stack.store is not None  # noqa: S101 - the shared stack has one
        with StoreWatch(stack.store, stack.kafka) as watch:
            # The store, not the log's tail, is what is to be measured.
            watch.wait_until_stored(watch.ends(), _SECONDS_TO_STORE)
    return run(replace(load, step="drain", subscribe_port=broker.ports[0]), 180)
