"""Many sessions that are away: how fast the sink stores their messages, and how much room these take."""

from __future__ import annotations

import os
from collections.abc import Iterator

from confluent_kafka import Producer

from bench.environment import Environment
from bench.figures import Figure, Result
from bench.processes import CpuMeter, proportional_bytes, tree
from bench.stacks import SinkStack, sink_stack
from bench.store_watch import StoreWatch
from contracts.headers import FILTER, ID, Headers
from contracts.kafka_topics import KafkaTopics
from contracts.partitioner import partition_of
from contracts.persisted_record import encode_key
from contracts.publish_record import PublishRecord, encode_headers
from contracts.routed_record import TOPIC, encode_id

_EACH = 10
_PAYLOAD = 256
_SECONDS = 900.0


def measure_offline(environment: Environment) -> Result:
    """100,000 sessions with 10 messages each, written straight to the log, which the sink then stores."""
    sessions = environment.million // 10
    messages = sessions * _EACH
    result = Result("offline", f"{sessions:,} sessions that are away, {_EACH} messages of {_PAYLOAD} B each")
    environment.stop_stack()
    with sink_stack(environment.folder / "offline") as stack, StoreWatch(stack.store, stack.kafka) as watch:
        empty = watch.used_bytes()
        stack.pause()
        environment.tell(f"writing {messages:,} messages while the sink stands still")
        try:
            write_messages(stack, sessions, _EACH)
        finally:
            meter = CpuMeter({str(pid): pid for pid in tree(stack.sink_pid)})
            seconds = stack.resume_and_time(lambda: watch.wait_until_stored(watch.ends(), _SECONDS))
        cpu = sum(meter.seconds().values())
        size = watch.used_bytes() - empty
        files = sum(file.stat().st_size for file in stack.store_folder.rglob("*") if file.is_file())
        memory = sum(proportional_bytes(tree(stack.sink_pid)).values())
    result.figures = [
        Figure(
            "stored", messages / seconds, "msg/s", note="one task; from the first batch to the last position"
        ),
        Figure("CPU of the sink", cpu * 1e6 / messages, "µs/msg"),
        Figure("memory of the sink while it stores (PSS)", memory / 2**20, "MiB"),
        Figure("store, in memory", size / messages, "bytes/msg", note=f"{size / 2**20:,.0f} MiB in all"),
        Figure("store, on disk", files / messages, "bytes/msg", note=f"{files / 2**20:,.0f} MiB in all"),
    ]
    result.details = {"seconds": seconds, "messages": messages, "cpu_seconds": cpu}
    return result


def records(sessions: int, each: int, publish: Headers) -> Iterator[tuple[bytes, Headers]]:
    """Keys and headers as the router would write them: each session's messages ascend at the source, none repeats."""
    for source in range(sessions * each):
        number = source % sessions
        place = f"fleet/{number}/state".encode()
        routed: Headers = [(TOPIC, place), (ID, encode_id(0, source)), (FILTER, place)]
        yield encode_key(f"session-{number:06d}"), [*publish, *routed]


def write_messages(stack: SinkStack, sessions: int, each: int) -> None:
    """Write all of them.

    Raises:
        RuntimeError: Kafka did not take all of them.
    """
    producer = Producer(
        {"bootstrap.servers": stack.kafka, "linger.ms": 20, "queue.buffering.max.messages": 500_000}
    )
    topic, partitions = KafkaTopics().persisted, stack.partitions
    payload = os.urandom(_PAYLOAD)
    publish = encode_headers(PublishRecord("", payload, "bench", "gw1", 1))
    for count, (key, headers) in enumerate(records(sessions, each, publish), 1):
        while True:
            try:
                producer.produce(topic, payload, key, partition_of(key, partitions), headers=headers)  # type: ignore[arg-type] # invariance only
                break
            except BufferError:
                producer.poll(0.1)
        if count % 1_000 == 0:
            producer.poll(0)
    if producer.flush(120):
        raise RuntimeError("Kafka did not take all messages")
