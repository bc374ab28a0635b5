"""Authorization: what it costs ingest that each publish is looked up in its client's rules."""

from __future__ import annotations

from bench.brokers import OURS, Broker
from bench.entrances import password_brokers
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_most
from bench.load.ingest_turns import IngestTurnsLoad
from bench.load.process import Measured, run
from bench.load.visits import password_of, user_of
from bench.stacks import kafka_alone
from bench.statistics import median, spread
from identity.answers import Rules

_RULED, _FREE = 0, 1
"""The users: who has rules, and who may do everything."""
_TOPICS = 200
"""Of each client in the second measurement: more than a gateway remembers of one."""
_TURNS = 10
"""Of each kind for each round of the run: what is looked for is a small difference."""
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

Turns = dict[int, list[Measured]]
"""By kind of publisher."""


def measure_authorization(environment: Environment) -> Result:
    """Ingest by clients with rules and by clients without, in turn, on one gateway with Kafka and nothing else."""
    result = Result("authorization", "PUBLISH QoS 1 → PUBACK, 256 B, with rules and without, one gateway")
    environment.stop_stack()
    few: dict[str, Turns] = {}
    with (
        kafka_alone(environment.folder / "authorization") as kafka,
        password_brokers(kafka, environment.folder / "ruled", 2, RULES, ACL) as ruled,
        password_brokers(kafka, environment.folder / "free", 2, node="gw4") as free,
    ):
        # Ours holds both users on one gateway; the peer's rules are for everybody, so it is there twice.
        brokers = {name: (ruled[name], ruled[name] if name == OURS else free[name]) for name in ruled}
        for name, pair in brokers.items():
            few[name] = _measure(environment, name, pair, 1)
        many = _measure(environment, OURS, brokers[OURS], _TOPICS)
    result.figures = _figures(environment, few, many)
    rates = {name: _rate(found[_RULED]) for name, found in few.items()}
    free_rates = {f"{name}, without rules": _rate(found[_FREE]) for name, found in few.items()}
    result.plots = [Bars(result.title, "messages acknowledged per second", rates | free_rates)]
    result.details = {"one topic": few, f"{_TOPICS} topics": many}
    return result


def _measure(environment: Environment, name: str, pair: tuple[Broker, Broker], topics: int) -> Turns:
    ruled, free = pair
    load = IngestTurnsLoad(
        ruled.host,
        (ruled.ports[0], free.ports[0]),
        (user_of(_RULED), user_of(_FREE)),
        (password_of(_RULED), password_of(_FREE)),
        max(2, round(_TURNS * environment.rounds * environment.scale)),
        topics=topics,
        watch=(ruled.processes, free.processes),
    )
    environment.tell(f"{name}, {topics} topics a client: {load.turns} turns each")
    kinds = run(load, 120 + 5.0 * load.turns * load.seconds)["kinds"]
    turns = {_RULED: kinds[0], _FREE: kinds[1]}
    environment.tell(f"{name}: rules cost {median(_costs(turns)):.1f} % of the rate")
    return turns


def _figures(environment: Environment, few: dict[str, Turns], many: Turns) -> list[Figure]:
    beside = environment.beside
    rates = {name: _rate(found[_RULED]) for name, found in few.items()}
    free = {name: _rate(found[_FREE]) for name, found in few.items()}
    costs = {name: median(_costs(found)) for name, found in few.items()}
    added = {name: median(_added(name, found)) for name, found in few.items()}
    lasting, lasting_added = _costs(many), _added(OURS, many)
    return [
        Figure("acknowledged, with rules", rates[OURS], "msg/s", None, beside(rates)),
        Figure("acknowledged, without", free[OURS], "msg/s", None, beside(free)),
        Figure(
            "what rules cost", costs[OURS], "% of the rate", at_most(_LIMIT), beside(costs), spread(_costs(few[OURS])),
        ),
        Figure(
            "CPU of the gateway that rules add", added[OURS], "%", at_most(_LIMIT), beside(added),
            spread(_added(OURS, few[OURS])),
        ),
        Figure(
            f"what rules cost, {_TOPICS} topics a client", median(lasting), "% of the rate", at_most(_LIMIT),
            note=spread(lasting),
        ),
        Figure(
            f"CPU of the gateway that they add, {_TOPICS} topics a client", median(lasting_added), "%",
            at_most(_LIMIT), note=spread(lasting_added),
        ),
    ]  # fmt: skip


def _rate(rounds: list[Measured]) -> float:
    return median(m["messages"] / m["seconds"] for m in rounds)


def _cost(ruled: Measured, free: Measured) -> float:
    """Percent of the rate without rules."""
    return 100.0 * (1 - _rate([ruled]) / _rate([free]))


def _costs(found: Turns) -> list[float]:
    """Of each pair of turns."""
    return [_cost(*pair) for pair in zip(found[_RULED], found[_FREE], strict=True)]


def _added(process: str, found: Turns) -> list[float]:
    """Percent of the process's CPU for a message without rules, of each pair of turns."""

    def cpu(measured: Measured) -> float:
        used: float = measured["cpu"][process]
        return used / max(int(measured["messages"]), 1)

    pairs = zip(found[_RULED], found[_FREE], strict=True)
    return [100.0 * (cpu(ruled) / cpu(free) - 1) for ruled, free in pairs]
