"""The administration with 100,000 sessions: how soon it knows them, what that takes, and how long a page takes."""

from __future__ import annotations

import time

from admin.kafka_topics import topic_administration
from admin.stack.kafka import running_kafka
from bench.administration import NODES, Administration, administration, write_cluster
from bench.environment import Environment
from bench.figures import Figure, Result, at_most
from bench.processes import CpuMeter, resident_bytes
from bench.statistics import percentile
from contracts.kafka_topics import KafkaTopics

_TOPICS = KafkaTopics("bench-administration")
_REQUESTS = 100
"""Of each kind in one round."""
_LONGEST_MS = 300.0

Params = dict[str, str | int | bool]


def kinds(sessions: int) -> dict[str, tuple[str, Params]]:
    """What is asked, by what it is called."""
    return {
        "first page": ("/clients", {}),
        "last page": ("/clients", {"offset": sessions - 100}),
        "search, few found": ("/clients", {"search": "device-0000"}),
        "search, all found": ("/clients", {"search": "DEVICE", "offset": sessions // 2}),
        "search by pattern": ("/clients", {"search": "plant-7/*-0*1"}),
        "away, on one gateway": ("/clients", {"connected": False, "node": f"gw{NODES}"}),
        "in order of time": ("/clients", {"sort": "connected_at_ms", "descending": True}),
        "subscriptions, by search": ("/subscriptions", {"search": "device-0000"}),
        "subscriptions, by topic": ("/subscriptions", {"topic": "news/today"}),
    }


def measure_administration(environment: Environment) -> Result:
    """Lists over 100,000 sessions and 200,000 subscriptions by HTTP, one request after the other."""
    sessions = max(1_000, environment.million // 10)
    result = Result("administration", f"The administration's API over {sessions:,} sessions")
    environment.stop_stack()
    folder = environment.folder / "administration"
    with running_kafka(folder / "kafka") as (broker, _):
        with topic_administration(broker.bootstrap) as topics:
            topics.create(_TOPICS.shared())
        with administration(broker.bootstrap, _TOPICS.prefix, folder) as empty:
            empty.wait_for(0)
            before = resident_bytes(empty.pid)
        environment.tell(f"writing {sessions:,} sessions")
        write_cluster(broker.bootstrap, _TOPICS, sessions)
        with administration(broker.bootstrap, _TOPICS.prefix, folder) as full:
            view = full.wait_for(sessions)
            grown = resident_bytes(full.pid) - before
            environment.tell("asking")
            took, cpu = _ask(environment, full, sessions)
            idle = _idle_cpu(full)
    for name, seconds in took.items():
        figure = Figure(
            f"p99, {name}", 1_000 * percentile(seconds, 99), "ms", at_most(_LONGEST_MS),
            note=f"p50 {1_000 * percentile(seconds, 50):.0f} ms; CPU {cpu[name]:.0f} ms",
        )  # fmt: skip
        result.figures.append(figure)
    result.figures += [
        Figure(
            "known after", view["loaded_in_ms"] / 1_000, "s", note="from the process's first look at Kafka"
        ),
        Figure("memory", grown / sessions, "B/session", note="two subscriptions each included"),
        Figure("CPU when nobody asks", 100 * idle, "% of a core"),
    ]
    result.details = {"view": view, "seconds": took}
    return result


def _ask(
    environment: Environment, api: Administration, sessions: int
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds of each request by kind, and CPU milliseconds of one; the kinds in turn."""
    asked = kinds(sessions)
    took: dict[str, list[float]] = {name: [] for name in asked}
    cpu = dict.fromkeys(asked, 0.0)
    count = max(10, int(_REQUESTS * environment.scale))
    for path, params in asked.values():
        api.seconds(path, params)  # the first one of a kind puts things in order
    for _ in range(environment.rounds):
        for name, (path, params) in asked.items():
            meter = CpuMeter({"api": api.pid})
            took[name] += [api.seconds(path, params) for _ in range(count)]
            cpu[name] += 1_000 * meter.seconds()["api"] / count / environment.rounds
    return took, cpu


def _idle_cpu(api: Administration, seconds: float = 10.0) -> float:
    """The share of a core that it takes to follow a cluster in which nothing happens."""
    meter = CpuMeter({"api": api.pid})
    began_at = time.monotonic()
    time.sleep(seconds)
    return meter.seconds()["api"] / (time.monotonic() - began_at)
