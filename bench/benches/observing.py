"""Observing: what it costs ingest and delivery that somebody looks all the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from admin.stack.embedded import Stack, StackOptions, embedded_stack
from bench.brokers import Broker, broker_of
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_most
from bench.load.fanout import FanoutLoad
from bench.load.ingest import IngestLoad
from bench.load.process import run
from bench.observers import ADMINISTRATION, BROWSER, CONSOLE, OBSERVERS
from bench.stacks import PARTITIONS
from bench.statistics import median, spread
from bench.turns import Look, Turns, looks, rate

_LIMIT = 3.0
"""Percent that an observer may cost."""
_GATEWAY = "gw1"
_WARM_UP = 15.0
"""Seconds of each load before anything is measured: JVMs compile what they run."""
_PATIENCE = 120.0


@dataclass(frozen=True)
class _Kind:
    """A kind of load, and how many turns of an observer a round has: what is looked for is a small difference."""

    make: Callable[[Broker, float, Mapping[str, int]], object]
    turns: int


_KINDS = {
    "ingest": _Kind(
        lambda broker, seconds, watch: IngestLoad(broker.host, broker.ports[0], seconds, dict(watch)), 6
    ),
    "deliveries": _Kind(
        lambda broker, seconds, watch: FanoutLoad(
            broker.host, broker.ports[0], broker.ports[0], seconds, dict(watch)
        ),
        3,
    ),
}

Found = dict[str, dict[str, list[Look]]]
"""By load and observer."""


def measure_observing(environment: Environment) -> Result:
    """Ingest and fan-out while nobody looks and while somebody does, in turns of seconds within one run."""
    result = Result("observing", "PUBLISH QoS 1 → PUBACK, and fan-out to 500, while somebody looks")
    environment.stop_stack()
    # As `sluicemq up` has it, with the router's own generations, so that few of them end within a turn.
    options = StackOptions(environment.folder / "observing", partitions=PARTITIONS, administration=True)
    environment.tell("starting a stack with its administration")
    with embedded_stack(options) as stack:
        for part in (ADMINISTRATION, "sink"):
            stack.wait_ready(part)
        found = {name: _measure(environment, stack, name) for name in _KINDS}
    for name, observed in found.items():
        result.figures += _figures(name, observed)
    result.plots = [Bars(result.title, "% of the rate when nobody looks", _shares(found), 100 - _LIMIT)]
    result.details = {
        name: {who: [_detail(look) for look in turns] for who, turns in observed.items()}
        for name, observed in found.items()
    }
    return result


def _measure(environment: Environment, stack: Stack, name: str) -> dict[str, list[Look]]:
    broker, kind = broker_of(stack), _KINDS[name]
    environment.tell(f"{name}: warming up")
    run(kind.make(broker, _WARM_UP, {}), _WARM_UP + _PATIENCE)
    observed = {}
    for who, observing in OBSERVERS.items():
        with observing(stack) as observer:
            turns = Turns(observer, max(2, round(kind.turns * environment.rounds * environment.scale)))
            load = kind.make(broker, turns.seconds, {**broker.processes, **observer.processes})
            recorded = run(load, turns.seconds + _PATIENCE, turns.tick)
        observed[who] = looks(turns.begun_at, recorded["moments"])
        environment.tell(f"{name}: {who} costs {_cost(observed[who]):.1f} % of the rate")
    return observed


def _figures(name: str, observed: dict[str, list[Look]]) -> list[Figure]:
    figures = []
    for who, turns in observed.items():
        costs = [look.cost for look in turns]
        added = [look.added(_GATEWAY) for look in turns]
        figures += [
            Figure(
                f"{name}, {who}", median(rate(look.seen) for look in turns), "msg/s",
                note=f"{median(look.rate_alone for look in turns):,.0f} before and after",
            ),
            Figure(f"{name}: what {who} costs", _cost(turns), "% of the rate", at_most(_LIMIT), note=spread(costs)),
            Figure(
                f"{name}: CPU of the gateway that {who} adds", median(added), "% a message", at_most(_LIMIT),
                note=spread(added),
            ),
        ]  # fmt: skip
        if who == CONSOLE:
            figures += [
                Figure(f"{name}: CPU of the administration", _percent(turns, ADMINISTRATION), "% of a core"),
                Figure(
                    f"{name}: CPU of the browser", _percent(turns, BROWSER), "% of a core",
                    note="on the same cores, so that its share is in the cost",
                ),
            ]  # fmt: skip
    return figures


def _cost(turns: list[Look]) -> float:
    return median(look.cost for look in turns)


def _percent(turns: list[Look], processes: str) -> float:
    return 100 * median(look.cores(processes) for look in turns)


def _shares(found: Found) -> dict[str, float]:
    """Percent of the rate that remains: each observer had neighbouring turns of its own to be compared with."""
    return {
        f"{name}, {who}": 100 - _cost(turns)
        for name, observed in found.items()
        for who, turns in observed.items()
    }


def _detail(look: Look) -> dict[str, Any]:
    return {
        "rate": rate(look.seen),
        "rate_alone": look.rate_alone,
        "cost": look.cost,
        "added": look.added(_GATEWAY),
        "cores": {name: used / look.seen["seconds"] for name, used in look.seen["cpu"].items()},
    }
