"""Authorization: what it costs ingest that each publish is looked up in its client's rules."""

from __future__ import annotations

from dataclasses import replace

from bench.brokers import OURS, Broker
from bench.entrances import password_brokers
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_most
from bench.load.ingest import IngestLoad
from bench.load.process import Measured, run
from bench.load.visits import password_of, user_of
from bench.stacks import kafka_alone
from bench.statistics import median
from identity.answers import Rules

_RULED, _FREE = 0, 1
"""The users: who has rules, and who may do everything."""
_TOPICS = 200
"""Of each client in the second measurement: more than a gateway remembers of one."""
_ROUNDS = 3
"""Pairs of measurements for each round of the run: what is looked for is a small difference."""
_LIMIT = 5.0

RULES = Rules(
    publish=(
        "fleet/${clientid}/.*",
        "fleet/${username}/state",
        "sites/[^/]+/(alarm|state)",
        "bench/ingest/.*",
    ),
    subscribe=("fleet/${clientid}/.*",),
)
"""The last one allows what is published, so all are tried."""
ACL = (
    f"user {user_of(_RULED)}",
    "topic write sites/+/state",
    "topic write bench/ingest/#",
    "pattern write fleet/%c/#",
    "pattern write fleet/%u/state",
)
"""The same for the peer."""

Found = dict[str, dict[int, list[Measured]]]


def measure_authorization(environment: Environment) -> Result:
    """Ingest by clients with rules and by clients without, in turn, on one gateway with Kafka and nothing else."""
    result = Result("authorization", "PUBLISH QoS 1 → PUBACK, 256 B, with rules and without, one gateway")
    environment.stop_stack()
    few: Found = {}
    many: Found = {}
    with (
        kafka_alone(environment.folder / "authorization") as kafka,
        password_brokers(kafka, environment.folder / "ruled", 2, RULES, ACL) as ruled,
        password_brokers(kafka, environment.folder / "free", 2, node="gw4") as free,
    ):
        # Ours holds both users on one gateway; the peer's rules are for everybody, so it is there twice.
        brokers = {name: (ruled[name], ruled[name] if name == OURS else free[name]) for name in ruled}
        for name, pair in brokers.items():
            run(_load(environment, pair[0], _RULED, 1), environment.seconds + 60)  # a warm-up
            for number in range(environment.rounds * _ROUNDS):
                _measure(environment, few, name, pair, number, 1)
                if name == OURS:
                    _measure(environment, many, name, pair, number, _TOPICS)
    result.figures = _figures(environment, few, many)
    rates = {name: _rate(found[_RULED]) for name, found in few.items()}
    free_rates = {f"{name}, without rules": _rate(found[_FREE]) for name, found in few.items()}
    result.plots = [Bars(result.title, "messages acknowledged per second", rates | free_rates)]
    result.details = {"one topic": few, f"{_TOPICS} topics": many}
    return result


def _measure(
    environment: Environment, found: Found, name: str, pair: tuple[Broker, Broker], number: int, topics: int
) -> None:
    # Now the one first, now the other: who comes second may find a machine that something has warmed or cooled.
    for user in (_RULED, _FREE) if number % 2 else (_FREE, _RULED):
        measured = run(_load(environment, pair[user], user, topics), environment.seconds + 60)
        found.setdefault(name, {}).setdefault(user, []).append(measured)
    one = {user: measurements[-1] for user, measurements in found[name].items()}
    environment.tell(
        f"{name}, {topics} topics: rules cost {_cost(one[_RULED], one[_FREE]):.1f} % of the rate"
    )


def _figures(environment: Environment, few: Found, many: Found) -> list[Figure]:
    beside = environment.beside
    rates = {name: _rate(found[_RULED]) for name, found in few.items()}
    free = {name: _rate(found[_FREE]) for name, found in few.items()}
    costs = {name: _median_cost(found) for name, found in few.items()}
    added = {name: _added(name, found) for name, found in few.items()}
    ours = many[OURS]
    return [
        Figure("acknowledged, with rules", rates[OURS], "msg/s", None, beside(rates)),
        Figure("acknowledged, without", free[OURS], "msg/s", None, beside(free)),
        Figure("what rules cost", costs[OURS], "% of the rate", at_most(_LIMIT), beside(costs)),
        Figure("CPU of the gateway that rules add", added[OURS], "%", at_most(_LIMIT), beside(added)),
        Figure(
            f"what rules cost, {_TOPICS} topics a client", _median_cost(ours), "% of the rate", at_most(_LIMIT)
        ),
        Figure(
            f"CPU of the gateway that they add, {_TOPICS} topics a client", _added(OURS, ours), "%",
            at_most(_LIMIT),
        ),
    ]  # fmt: skip


def _load(environment: Environment, broker: Broker, user: int, topics: int) -> IngestLoad:
    load = IngestLoad(broker.host, broker.ports[0], environment.seconds, broker.processes)
    return replace(load, topics=topics, user_name=user_of(user), password=password_of(user))


def _rate(rounds: list[Measured]) -> float:
    return median(m["messages"] / m["seconds"] for m in rounds)


def _cost(ruled: Measured, free: Measured) -> float:
    """Percent of the rate without rules."""
    return 100.0 * (1 - _rate([ruled]) / _rate([free]))


def _median_cost(found: dict[int, list[Measured]]) -> float:
    return median(_cost(*pair) for pair in zip(found[_RULED], found[_FREE], strict=True))


def _added(process: str, found: dict[int, list[Measured]]) -> float:
    """Percent of the process's CPU for a message without rules."""

    def cpu(measured: Measured) -> float:
        used: float = measured["cpu"][process]
        return used / max(int(measured["messages"]), 1)

    pairs = zip(found[_RULED], found[_FREE], strict=True)
    return median(100.0 * (cpu(ruled) / cpu(free) - 1) for ruled, free in pairs)
