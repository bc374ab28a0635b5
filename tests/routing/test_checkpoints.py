"""Checkpoints that are damaged, read-only, behind, or old: P10, P11 and P17 of the router alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contracts.routed_record import decode_route
from routing.errors import CheckpointError
from tests.job_process import job_process
from tests.routing.broker import Broker
from tests.routing.running import running_router
from tests.spark_session import submit_environment

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

BATCHES = 2
RETAINED = 10
"""Batches whose files are kept (spark-defaults.conf)."""


def newest(log: Path, back: int = 0) -> Path:
    """The newest file of a checkpoint's log, or the one so many before it."""
    files = sorted(log.glob("[0-9]*"), key=lambda path: int(path.name))
    return files[-1 - back]


def routed_in_batches(spark: SparkSession, broker: Broker, place: Path, numbers: range) -> None:
    """Publish numbers, and route each in a batch of its own."""
    for number in numbers:
        broker.publish("a", b"%d" % number)
        broker.flush()
        route_what_is_there(spark, broker, place)


def route_what_is_there(spark: SparkSession, broker: Broker, place: Path) -> None:
    """Until its end, which raises what the router died of."""
    with running_router(spark, broker, place, "available-now") as router:
        router.wait()


def values_so_far(broker: Broker) -> list[int]:
    """All that stands in the node's downlink."""
    return [int(record.value or b"") for record in broker.records_so_far(broker.topics.downlink("n1"))]


def cut(file: Path, size: int) -> None:
    """Leave only so many bytes of a file, as a disk that was full; what Spark knows to compare it with is gone too."""
    file.write_bytes(file.read_bytes()[:size])
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def empty_newest_offsets(checkpoint: Path) -> str:
    """The batch's plan is empty."""
    file = newest(checkpoint / "offsets")
    cut(file, 0)
    return f"offsets/{file.name}"


def halve_newest_offsets(checkpoint: Path) -> str:
    """It ends in the middle of a line."""
    file = newest(checkpoint / "offsets")
    cut(file, file.stat().st_size - 7)
    return f"offsets/{file.name}"


def empty_newest_commit(checkpoint: Path) -> str:
    """That the batch is done is not told."""
    file = newest(checkpoint / "commits")
    cut(file, 0)
    return f"commits/{file.name}"


def lose_offsets_before_newest(checkpoint: Path) -> str:
    """There is a hole."""
    file = newest(checkpoint / "offsets", back=1)
    file.unlink()
    return f"offsets/{file.name}"


@pytest.fixture
def checkpoint(spark: SparkSession, broker: Broker, tmp_path: Path) -> Path:
    """The checkpoint of a query that has routed a few batches."""
    broker.create_nodes("n1")
    broker.subscribe("c1", "a", "n1")
    routed_in_batches(spark, broker, tmp_path, range(BATCHES))
    assert values_so_far(broker) == list(range(BATCHES))
    return tmp_path / "checkpoint" / "1"


def test_what_is_damaged_by_hand(
    spark: SparkSession, broker: Broker, checkpoint: Path, tmp_path: Path
) -> None:
    """P10: the file is named, and nothing is routed from another place than the right one."""
    whole = tmp_path / "whole"
    shutil.copytree(tmp_path / "checkpoint", whole)
    broker.publish("a", b"%d" % BATCHES)
    broker.flush()
    damages: list[Callable[[Path], str]] = [
        empty_newest_offsets, halve_newest_offsets, empty_newest_commit, lose_offsets_before_newest,
    ]  # fmt: skip
    for damage in damages:
        shutil.rmtree(tmp_path / "checkpoint")
        shutil.copytree(whole, tmp_path / "checkpoint")
        named = damage(checkpoint)
        with pytest.raises(CheckpointError, match=named):
            route_what_is_there(spark, broker, tmp_path)
        assert values_so_far(broker) == list(range(BATCHES)), damage
    # What a writer has left behind that was killed is no damage.
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.copytree(whole, tmp_path / "checkpoint")
    for log in ("offsets", "commits"):
        (checkpoint / log / f".{BATCHES}.5f9c0d5e-0b1c-4f1e-9d55-7d5f6f2f0a11.tmp").write_bytes(b"v1\n{")
    route_what_is_there(spark, broker, tmp_path)
    assert values_so_far(broker) == list(range(BATCHES + 1))


def test_a_folder_that_cannot_be_written(broker: Broker, tmp_path: Path) -> None:
    """P10: the job ends, and says which file it could not write."""
    broker.create_nodes("n1")
    broker.subscribe("c1", "a", "n1")
    broker.publish("a", b"1")
    broker.flush()
    offsets = tmp_path / "checkpoint" / "1" / "offsets"
    offsets.mkdir(parents=True, mode=0o500)
    # In real-time mode generation.json alone is written while batches run (test_generations.py).
    arguments = [
        "--kafka",
        broker.bootstrap,
        "--topic-prefix",
        broker.topics.prefix,
        "--trigger",
        "available-now",
    ]
    arguments += ["--checkpoint", str(tmp_path / "checkpoint"), "--snapshot-dir", str(tmp_path / "snapshots")]
    environment = submit_environment(tmp_path)
    with job_process("routing.job", arguments, tmp_path, environment, as_who_may_not_write()) as process:
        assert process.wait(300) == 1
    said = (tmp_path / "job.log").read_text().splitlines()[-1]
    assert said.startswith(f"The router has stopped: the checkpoint file {offsets}")
    assert values_so_far(broker) == []


def as_who_may_not_write() -> list[str]:
    """What makes root heed a file's mode, as everybody else does anyway."""
    if os.geteuid():
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv (util-linux) to take that away")
    return ["setpriv", "--inh-caps=-dac_override", "--bounding-set=-dac_override"]


def test_a_batch_that_was_written_and_not_committed(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """P11: what is written again is told from the rest by the place of its source, and stands in the same order."""
    broker.create_nodes("n1")
    broker.subscribe("c1", "a/#", "n1")
    count = 1_000
    for last in (count // 2, count):
        for number in range(last - count // 2, last):
            broker.publish(f"a/{number % 5}", b"%d" % number, qos=number % 3)
        broker.flush()
        route_what_is_there(spark, broker, tmp_path)
    commit = newest(tmp_path / "checkpoint" / "1" / "commits")
    commit.unlink()
    (commit.parent / f".{commit.name}.crc").unlink()
    route_what_is_there(spark, broker, tmp_path)
    kept: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    repeated: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    for record in broker.records_so_far(broker.topics.downlink("n1")):
        route, number = decode_route(record.headers), int(record.value or b"")
        so_far = kept[route.partition]
        is_new = not so_far or route.offset > so_far[-1][0]  # as a consumer has it
        (so_far if is_new else repeated[route.partition]).append((route.offset, number))
    assert sorted(number for of in kept.values() for _, number in of) == list(range(count))
    for partition, again in repeated.items():
        assert again == [one for one in kept[partition] if one[1] >= count // 2]


def test_many_small_batches(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """P17: files do not pile up, nothing is written when nothing comes, and a shuffle's width may change."""
    broker.create_nodes("n1")
    broker.subscribe("c1", "a", "n1")
    broker.flush()
    folder = tmp_path / "checkpoint" / "1"
    taken = broker.records(broker.topics.downlink("n1"), seconds=300)
    count = 4 * RETAINED

    def publish_and_take(number: int) -> None:
        broker.publish("a", b"%d" % number)
        broker.flush()
        assert int(next(taken).value or b"") == number

    with running_router(spark, broker, tmp_path, "microbatch"):
        for number in range(count):
            publish_and_take(number)
    # Offsets and commits, each with its checksum. Spark removes old ones beside its batches, so some more may stand.
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) < 4 * 2 * RETAINED
    before = int(newest(folder / "offsets").name)
    assert RETAINED < before < count  # One batch a message at most: none was for nothing.
    shuffle = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        with running_router(spark, broker, tmp_path, "microbatch"):
            publish_and_take(count)
    finally:
        assert shuffle is not None
        spark.conf.set("spark.sql.shuffle.partitions", shuffle)
    assert int(newest(folder / "offsets").name) <= before + 2
