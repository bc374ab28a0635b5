"""A replay into Kafka topics: its rate, its memory, and what messages cost as a table."""

from __future__ import annotations

from admin.stack.kafka import running_kafka
from bench import replay_job
from bench.benches.router import Table, prepare_backlog, run_spark
from bench.environment import Environment
from bench.figures import Bars, Figure, Result, at_most
from bench.statistics import median

_ROUTES = 1_000
_SECONDS_TO_START, _SLOWEST = 300.0, 4_000
"""How long the job may take: for a start, and for each so many messages a second more, on a machine that is busy."""
_PYTHON_SHARE = 20
"""One message in so many is read by Python, too: more would say no more and take minutes."""


def measure_replay(environment: Environment) -> Result:
    """Five million messages (--messages) of 256 B, each for two nodes, replayed by the table as of now."""
    messages = int(environment.messages * environment.scale)
    result = Result("replay", f"A replay of {messages:,} messages, 256 B, fan-out 2, {_ROUTES:,} routes")
    environment.stop_stack()
    table = Table(_ROUTES)
    folder = environment.folder / "replay"
    by_python = messages // _PYTHON_SHARE
    with running_kafka(folder / "kafka") as (broker, _):
        environment.tell(f"writing {messages:,} messages")
        prepare_backlog(broker.bootstrap, table, messages)
        environment.tell("reading and replaying")
        numbers = [str(messages), str(by_python), table.topics.prefix]
        seconds = _SECONDS_TO_START + messages / _SLOWEST
        measured = run_spark(folder, broker.bootstrap, replay_job.__file__, numbers, seconds)
    sizes = [size / 2**20 for size in measured["memory"]]
    half = len(sizes) // 2
    alive = [size / 2**20 for size in measured["heap"]]
    rates = {
        "replayed": messages / measured["replay"],
        "as a table, native": messages / measured["native"],
        "as a table, Python": by_python / measured["python"],
    }
    result.figures = [
        Figure("replayed", rates["replayed"], "msg/s", note="with the pass that finds where it leads"),
        Figure(
            "JVM, middle of the replay", median(sizes[: half + 1]), "MiB", note="median of its first half"
        ),
        Figure("JVM, end of the replay", median(sizes[half:]), "MiB", note="median of its second half"),
        *_growth(alive),
        Figure("read_messages", rates["as a table, native"], "msg/s", note="all columns"),
        Figure("mqtt_messages", rates["as a table, Python"], "msg/s", note=f"all columns of {by_python:,}"),
    ]
    result.plots = [Bars(result.title, "messages per second", rates)]
    result.details = measured
    return result


def _growth(alive: list[float]) -> list[Figure]:
    """What is alive on the heap, early and late in the replay; nothing where there were not enough collections.

    A collection leaves the messages that are under way at that moment, which come and go; what stays is told by the
    least of several.
    """
    if len(alive) < 4:
        return []
    quarter = len(alive) // 4
    # Its first collections meet a query that has only begun.
    early, late = min(alive[quarter : 2 * quarter]), min(alive[-quarter:])
    return [
        Figure(
            "alive on its heap, end of the replay", late, "MiB",
            note=f"the least that one of {quarter} collections left; all {len(alive)}: up to {max(alive):.0f}",
        ),
        Figure("the same, last quarter against second", late / early, "×", at_most(1.2)),
    ]  # fmt: skip
