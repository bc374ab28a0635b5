"""The job as a process: the command line, SIGTERM, and kill -9 in the middle of a batch (I4)."""

from __future__ import annotations

import signal
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest

from contracts.routed_record import decode_route
from routing.job import STARTED, parse_arguments
from tests.job_process import job_process, wait_until_started
from tests.routing.broker import Broker
from tests.spark_session import submit_environment


def job(broker: Broker, place: Path, *options: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """Start the job as a process; whatever is left of it is gone when the block ends."""
    arguments = ["--kafka", broker.bootstrap, "--topic-prefix", broker.topics.prefix, *options]
    arguments += ["--checkpoint", str(place / "checkpoint"), "--snapshot-dir", str(place / "snapshots")]
    return job_process("routing.job", arguments, place, submit_environment(place))


@pytest.mark.live
@pytest.mark.timeout(400)
def test_kill_in_mid_batch_loses_nothing_and_keeps_the_order(broker: Broker, tmp_path: Path) -> None:
    broker.create_nodes("n1")
    broker.subscribe("c1", "k/#", "n1")
    broker.flush()
    total = 2000
    taken: list[tuple[int, int, bytes | None]] = []
    records = broker.records(broker.topics.downlink("n1"), seconds=300)

    def take_until(count: int) -> None:
        while len({value for _, _, value in taken}) < count:
            record = next(records)
            route = decode_route(record.headers)
            assert record.key == str(route.partition).encode()
            taken.append((route.partition, route.offset, record.value))

    with job(broker, tmp_path, "--batch-seconds", "600") as process:
        wait_until_started(process, STARTED)
        for number in range(total // 2):
            broker.publish(f"k/{number % 7}", b"%d" % number)
        broker.flush()
        take_until(total // 4)
        [jvm] = [child for child in psutil.Process(process.pid).children() if child.name() == "java"]
        for number in range(total // 2, total):
            broker.publish(f"k/{number % 7}", b"%d" % number)
        jvm.kill()
        broker.flush()
        assert process.wait(60) != 0  # The job does not outlive its JVM.
    with job(broker, tmp_path, "--batch-seconds", "600") as process:
        take_until(total)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    # What a consumer takes: for each source partition only what is above what it has taken.
    highest: dict[int, int] = {}
    kept = []
    for partition, offset, value in taken:
        if offset > highest.get(partition, -1):
            highest[partition] = offset
            kept.append(value)
    assert len(kept) == total
    for topic in range(7):
        numbers = [int(value or b"") for value in kept if int(value or b"") % 7 == topic]
        assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--kafka", "k:1"], "--checkpoint"),
        (["--kafka", "k:1", "--checkpoint", "c", "--batch-seconds", "0"], "--batch-seconds"),
        (["--kafka", "k:1", "--checkpoint", "c", "--topic-prefix", "a b"], "prefix"),
        (["--kafka", "k:1", "--checkpoint", "c", "--trigger", "often"], "available-now"),
    ],
)
def test_bad_arguments_are_told(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(arguments)
    assert sentence in capsys.readouterr().err
