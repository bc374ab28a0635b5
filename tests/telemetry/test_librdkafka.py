"""What Kafka's client says, as one line that a human understands."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer

from telemetry.librdkafka import AGAIN_SECONDS, QUIET, TOLD, KafkaLog

THREAD = "[thrd:k1:9092/bootstrap]: "
REFUSED = "Connect to ipv4#10.0.0.7:9092 failed: Connection refused (after 3ms in state CONNECT)"


Lines = Callable[[], list[str]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    """Tells what has been logged."""
    caplog.set_level(logging.INFO, "telemetry.librdkafka")
    return lambda: [record.getMessage() for record in caplog.records]


class Clock:
    """Tells what it is set to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Heard(KafkaLog):
    """Counts what it hears."""

    count = 0

    def log(self, level: int, _form: str, facility: str, client: str, text: str) -> None:
        self.count += 1
        super().log(level, _form, facility, client, text)


def said(log: KafkaLog, text: str, facility: str = "FAIL", level: int = logging.ERROR) -> None:
    log.log(level, "%s [%s] %s", facility, "rdkafka#producer-1", text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{THREAD}k1:9092/bootstrap: {REFUSED}", "Kafka at k1:9092 cannot be used: Connection refused"),
        (
            f"{THREAD}k1:9092/3: {REFUSED}, 4 identical error(s) suppressed",
            "Kafka at k1:9092 cannot be used: Connection refused",
        ),
        (
            f"[thrd:GroupCoordinator]: GroupCoordinator: k2:9092: {REFUSED}",
            "Kafka at k2:9092 cannot be used: Connection refused",
        ),
        (
            "[thrd:sasl_ssl://k1:9093/bootstrap]: sasl_ssl://k1:9093/bootstrap: SSL handshake failed: expired "
            "(after 12ms in state SSL_HANDSHAKE)",
            "Kafka at k1:9093 cannot be used: SSL handshake failed: expired",
        ),
        (
            f"{THREAD}k1:9092/bootstrap: Failed to resolve 'k1:9092': Name or service not known "
            "(after 9ms in state CONNECT)",
            "Kafka at k1:9092 cannot be used: Failed to resolve 'k1:9092': Name or service not known",
        ),
    ],
)
def test_a_broker_that_cannot_be_reached_is_named_with_the_cause(text: str, told: str, lines: Lines) -> None:
    said(KafkaLog(), text)
    assert lines() == [f"{told}; it is tried again until it answers"]


def test_what_was_said_is_said_again_only_after_a_while(lines: Lines) -> None:
    clock = Clock()
    log = KafkaLog(clock)
    first = "Kafka at k1:9092 cannot be used: Connection refused; it is tried again until it answers"
    other = first.replace("k1", "k2")
    for _ in range(3):
        said(log, f"{THREAD}k1:9092/bootstrap: {REFUSED}")
        said(log, f"{THREAD}k1:9092/1: {REFUSED}, 4 identical error(s) suppressed")
    assert lines() == [first]
    said(log, f"{THREAD}k2:9092/bootstrap: {REFUSED}")
    assert lines() == [first, other]
    clock.now += AGAIN_SECONDS - 1
    said(log, f"{THREAD}k1:9092/bootstrap: {REFUSED}")
    assert lines() == [first, other]
    clock.now += 1
    said(log, f"{THREAD}k1:9092/bootstrap: {REFUSED}")
    assert lines() == [first, other, first]


def test_anything_else_is_said_as_it_is(lines: Lines, caplog: pytest.LogCaptureFixture) -> None:
    log = KafkaLog()
    said(log, f"{THREAD}1/1 brokers are down", "ERROR")
    assert lines() == []
    said(log, "[thrd:main]: Application maximum poll interval exceeded", "MAXPOLL", logging.WARNING)
    said(log, "odd", "FAIL")
    assert lines() == [
        "Kafka's client rdkafka#producer-1: Application maximum poll interval exceeded",
        "Kafka's client rdkafka#producer-1: odd",
    ]
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.ERROR]


def test_clients_of_a_kafka_that_is_away_say_one_line_and_write_nothing(
    lines: Lines, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        away = {"bootstrap.servers": address, "group.id": "g"}
        heard = Heard()
        told = [Consumer(away | TOLD | {"logger": heard}) for _ in range(2)]
        quiet = Producer(QUIET | {"bootstrap.servers": address})
        while heard.count < 4:  # pytest's timeout ends it
            for one in told:
                one.poll(0.05)
            quiet.poll(0.05)
        for one in told:
            one.close()
    assert lines() == [
        f"Kafka at {address} cannot be used: Connection refused; it is tried again until it answers"
    ]
    assert "|rdkafka#" not in capfd.readouterr().err
