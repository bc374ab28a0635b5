"""What a query died of, from what Spark and Kafka say."""

from __future__ import annotations

import pytest

from routing.failures import Failure

TIMED_OUT = """\
Job aborted due to stage failure
Caused by: org.apache.kafka.common.errors.TimeoutException: Topic tbmq.msg.downlink.basic.gw-1 not present in metadata \
after 10000 ms.
"""


def test_a_topic_without_metadata_is_suspected() -> None:
    failure = Failure(TIMED_OUT)
    assert failure.suspects == {"tbmq.msg.downlink.basic.gw-1"}
    assert not failure.is_too_large
    assert failure.checkpoint_file("/data/checkpoint") is None
    assert failure.summary.startswith("org.apache.kafka.common.errors.TimeoutException: Topic")


def test_a_topic_whose_records_expired_is_suspected() -> None:
    failure = Failure(
        "TimeoutException: Expiring 3 record(s) for tbmq.msg.downlink.basic.gw-1-0:30001 ms has passed"
    )
    assert failure.suspects == {"tbmq.msg.downlink.basic.gw-1"}


def test_a_record_that_is_too_large_is_recognised() -> None:
    assert Failure(
        "Caused by: org.apache.kafka.common.errors.RecordTooLargeException: The message is"
    ).is_too_large


@pytest.mark.parametrize(
    "text",
    [
        "java.lang.IllegalStateException: Incomplete log file in the offset commit log /d/c/1/offsets/7",
        "[MISSING] batch metadata file:/d/c/1/offsets/7, see above",
        "java.io.FileNotFoundException: /d/c/1/offsets/7 (Permission denied)",
    ],
)
def test_a_checkpoint_file_is_found(text: str) -> None:
    assert Failure(text).checkpoint_file("/d/c") == "/d/c/1/offsets/7"
    assert Failure(text).checkpoint_file("/elsewhere") is None


def test_a_failure_without_words_has_a_summary() -> None:
    assert Failure("").summary == "no reason given"
