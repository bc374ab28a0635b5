"""Authentication: how many clients a second one gateway lets in, asking nobody, for passwords, and for certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.brokers import OURS, Broker
from bench.certificates import CertificateSet
from bench.entrances import certificate_brokers, open_brokers, password_brokers
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, Target, at_least
from bench.load.process import LoadError, Measured, run
from bench.load.visits import VisitsLoad
from bench.stacks import KafkaAlone, kafka_alone
from bench.statistics import median

_VISITS = 6_000
"""Of one measurement without TLS; amqtt, which takes minutes for them, has fewer."""
_FEWER = {"amqtt": 600}
_PASSES = 6
"""How often a client comes where the same come back: a sixth as many clients."""
_HANDSHAKES = 1_500
_USERS = 200
"""Passwords that are checked for the first time in a round: each takes a processor for 25 ms."""
_WARM_USERS, _WARM_VISITS = 4, 500
"""What a new gateway gets before it is measured: it takes some seconds until it owns sessions, and who comes waits."""
_AT_ONCE = 500
_SECONDS = 240.0


@dataclass(frozen=True)
class Row:
    """One kind of visit, at all brokers."""

    name: str
    target: Target | None = None
    note: str = ""


_OPEN = Row("nobody asked, each client once", at_least(2_000.0))
_OPEN_AGAIN = Row("nobody asked, the same clients again")
_FIRST = Row("passwords, never seen before", note="an Argon2id check each")
_KNOWN = Row("passwords, each client once", at_least(500.0), "users that came before")
_KNOWN_AGAIN = Row("passwords, the same clients again")
_TLS = Row("certificates over TLS, each client once", at_least(150.0), "ECDSA P-256, full handshakes")
_TLS_AGAIN = Row("certificates over TLS, the same clients again")

Found = dict[Row, dict[str, list[Measured]]]


def measure_authentication(environment: Environment) -> Result:
    """Clients that connect and leave, 500 at a time, on one gateway with Kafka and nothing else."""
    result = Result("authentication", f"CONNECT → CONNACK, {_AT_ONCE} clients at a time, one gateway")
    environment.stop_stack()
    found: Found = {}
    with kafka_alone(environment.folder / "authentication") as kafka:
        _measure_open(environment, kafka, found)
        _measure_passwords(environment, kafka, found)
        _measure_certificates(environment, kafka, found)
    result.figures = [
        *(_rate(environment, row, brokers) for row, brokers in found.items()),
        *(_cpu(environment, row, found[row]) for row in (_OPEN, _KNOWN, _TLS)),
        Figure("CPU of Kafka, nobody asked", _cpu_of("kafka", found[_OPEN][OURS]), "µs/CONNECT"),
        Figure("CPU of the load generator, the same", _cpu_of("generator", found[_OPEN][OURS]), "µs/CONNECT"),
        Figure("CPU of the load generator, TLS", _cpu_of("generator", found[_TLS][OURS]), "µs/CONNECT"),
    ]
    for row in (_OPEN, _KNOWN, _TLS):
        limit = row.target.limit if row.target else None
        result.plots.append(
            Bars(f"CONNECT rate: {row.name}", "clients per second", _rates(found[row]), limit)
        )
    result.details = {row.name: brokers for row, brokers in found.items()}
    return result


def _measure_open(environment: Environment, kafka: KafkaAlone, found: Found) -> None:
    with open_brokers(kafka, environment.folder) as brokers:
        _warm_up(environment, brokers[OURS])
        for number in range(environment.rounds):
            for name, broker in brokers.items():
                visits = _scaled(environment, _FEWER.get(name, _VISITS))
                load = _load(broker, f"open-{number}", visits)
                _measure(environment, found, _OPEN, name, load)
                _measure(environment, found, _OPEN_AGAIN, name, _again(load))


def _measure_passwords(environment: Environment, kafka: KafkaAlone, found: Found) -> None:
    users = _scaled(environment, _USERS)
    environment.tell(f"hashing {users * environment.rounds} passwords")
    folder = environment.folder / "passwords"
    with password_brokers(kafka, folder, users * environment.rounds + _WARM_USERS) as brokers:
        first_of_all = users * environment.rounds
        for broker in brokers.values():
            warm = replace(_load(broker, "warm", _WARM_VISITS), users=_WARM_USERS, first_user=first_of_all)
            run(warm, _SECONDS)
        for number in range(environment.rounds):
            for name, broker in brokers.items():
                first = replace(
                    _load(broker, f"first-{number}", users), users=users, first_user=number * users
                )
                _measure(environment, found, _FIRST, name, first)
                known = replace(first, prefix=f"known-{number}", clients=_scaled(environment, _VISITS))
                _measure(environment, found, _KNOWN, name, known)
                _measure(environment, found, _KNOWN_AGAIN, name, _again(known))


def _measure_certificates(environment: Environment, kafka: KafkaAlone, found: Found) -> None:
    with certificate_brokers(kafka, environment.folder / "certificates") as (brokers, files):
        for broker in brokers.values():
            run(_showing(files, _load(broker, "warm", _WARM_VISITS)), _SECONDS)
        for number in range(environment.rounds):
            for name, broker in brokers.items():
                load = _showing(files, _load(broker, f"tls-{number}", _scaled(environment, _HANDSHAKES)))
                _measure(environment, found, _TLS, name, load)
                _measure(environment, found, _TLS_AGAIN, name, _again(load))


def _warm_up(environment: Environment, broker: Broker) -> None:
    """Kafka's JVM compiles what it runs meanwhile: without this the first rows would pay for those behind them."""
    environment.tell("warming up")
    for number in range(3):
        run(_load(broker, f"warm-{number}", _scaled(environment, _VISITS)), _SECONDS)


def _measure(environment: Environment, found: Found, row: Row, name: str, load: VisitsLoad) -> None:
    try:
        measured = run(load, _SECONDS)
    except LoadError as error:
        if name == OURS:
            raise
        environment.tell(f"{name} failed: {error}")
        return
    found.setdefault(row, {}).setdefault(name, []).append(measured)
    environment.tell(f"{row.name}: {name} {measured['messages'] / measured['seconds']:,.0f}/s")


def _load(broker: Broker, prefix: str, clients: int) -> VisitsLoad:
    return VisitsLoad(broker.host, broker.ports[0], prefix, clients, watch=broker.processes, at_once=_AT_ONCE)


def _showing(files: CertificateSet, load: VisitsLoad) -> VisitsLoad:
    """The same over TLS, by clients that show a certificate."""
    return replace(load, authority=str(files.authority), certificate=str(files.client))


def _again(load: VisitsLoad) -> VisitsLoad:
    """As many visits, by fewer clients that come back."""
    return replace(
        load, prefix=f"{load.prefix}-again", clients=max(1, load.clients // _PASSES), passes=_PASSES
    )


def _scaled(environment: Environment, count: int) -> int:
    return max(10, int(count * environment.scale))


def _rates(brokers: dict[str, list[Measured]]) -> dict[str, float]:
    return {name: median(m["messages"] / m["seconds"] for m in rounds) for name, rounds in brokers.items()}


def _rate(environment: Environment, row: Row, brokers: dict[str, list[Measured]]) -> Figure:
    rates = _rates(brokers)
    return Figure(row.name, rates[OURS], "clients/s", row.target, environment.beside(rates), row.note)


def _cpu(environment: Environment, row: Row, brokers: dict[str, list[Measured]]) -> Figure:
    cpu = {name: _cpu_of(name, rounds) for name, rounds in brokers.items()}
    return Figure(f"CPU of the gateway: {row.name}", cpu[OURS], "µs/CONNECT", None, environment.beside(cpu))


def _cpu_of(process: str, rounds: list[Measured]) -> float:
    return median(m["cpu"][process] * 1e6 / m["messages"] for m in rounds)
