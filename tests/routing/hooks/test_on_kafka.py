"""Hooks in a real-time query on a real Kafka, with the examples of docs/hooks.md, over rollovers and a restart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contracts.probe_record import is_answer
from contracts.routed_record import decode_route
from tests.routing.broker import Broker, Taken
from tests.routing.running import running_router

DOCS = Path(__file__).parents[3] / "docs" / "hooks.md"


def configured(folder: Path) -> Path:
    """The file that the documentation shows, with its lookup and its SQL beside it."""
    (text,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    (folder / "devices.csv").write_text("b1,north\nb2,south\n")
    (folder / "enrich.sql").write_text(
        "SELECT array_append(user_properties, named_struct('name', 'site', 'value', site)) AS user_properties\n"
        "FROM messages LEFT JOIN devices ON device = element_at(split(topic, '/'), 2)\n"
        "WHERE NOT topic LIKE 'debug/%'"
    )
    file = folder / "hooks.toml"
    file.write_text(text.replace("/etc/sluicemq", str(folder)))
    return file


@pytest.mark.live
@pytest.mark.timeout(400)
def test_hooks_over_rollovers_and_a_restart(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """P11 for what rules make: each once, in order, though generations overlap and a router is started anew."""
    broker.create_nodes("n1")
    broker.subscribe("c1", "#", "n1")
    broker.flush()
    file = configured(tmp_path)
    records = broker.records(broker.topics.downlink("n1"), seconds=300)
    taken: list[tuple[str, int]] = []
    highest: dict[int, int] = {}
    generations: set[bytes | None] = set()

    def take(record: Taken) -> None:
        headers = dict(record.headers)
        if is_answer(record.headers):
            generations.add(headers["generation"])
            return
        route = decode_route(record.headers)
        if route.offset > highest.get(route.partition, -1):  # as a gateway does
            highest[route.partition] = route.offset
            taken.append((route.topic, int(record.value or b"")))
            assert headers["user-property:site"] == b"north"

    def publish_and_take(numbers: range) -> None:
        for number in numbers:
            broker.publish("debug/b1", b"")
            broker.publish("boiler/b1", b"%d" % number)
        broker.flush()
        while ("alarm/boiler/b1", numbers[-1]) not in taken:
            take(next(records))

    with running_router(spark, broker, tmp_path, rollover="seamless", hooks_file=file):
        number = 0
        while len(generations) < 3:
            publish_and_take(range(number, number + 10))
            number += 10
    with running_router(spark, broker, tmp_path, hooks_file=file):
        publish_and_take(range(number, number + 10))
    for topic in ("boiler/b1", "alarm/boiler/b1"):
        assert [value for name, value in taken if name == topic] == list(range(number + 10))
    assert {name for name, _ in taken} == {"boiler/b1", "alarm/boiler/b1"}
