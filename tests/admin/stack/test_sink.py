"""The store and the sink as parts of the stack: both come back, and nothing that was stored is lost."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from admin.errors import UsageError
from admin.stack.embedded import StackOptions, embedded_stack
from contracts.kafka_topics import KafkaTopics
from stores import open_store
from tests.sinks.log import Log


@pytest.mark.live
@pytest.mark.timeout(600)
def test_store_and_sink_come_back(tmp_path: Path) -> None:
    options = StackOptions(tmp_path, gateways=1, persistence=True)
    with embedded_stack(options) as stack:
        assert stack.store is not None
        log = Log(stack.kafka, KafkaTopics(), partitions=0)
        offsets = log.messages("c", 2)
        for part in ("valkey", "sink"):
            before = stack.kill(part)
            stack.wait_restarted(part, before)
            offsets += log.messages("c", 2)
        log.acked("c", offsets.pop(1))
        until = time.monotonic() + 120
        with closing(open_store(stack.store)) as store:
            while [found.offset for found in store.backlog(log.partition_of("c"), "c").messages] != offsets:
                assert time.monotonic() < until
                time.sleep(0.1)  # The store tells nobody when it has changed.


@pytest.mark.parametrize("url", ["mongodb://there", "redis://127.0.0.1:1"])
def test_a_store_that_cannot_be_used(tmp_path: Path, url: str) -> None:
    with (
        pytest.raises(UsageError, match="The sink could not use that store"),
        embedded_stack(StackOptions(tmp_path, store=url)),
    ):
        pass
    assert not (tmp_path / "logs").exists()  # Nothing was started.
