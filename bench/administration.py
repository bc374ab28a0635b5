"""A cluster's worth of sessions in Kafka, and the administration's process that reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from confluent_kafka import Producer

from admin.api.app import PREFIX
from admin.cli.administration import LISTENING
from bench.load.process import LoadError
from contracts import session_record, subscription_record
from contracts.kafka_topics import KafkaTopics, subscription_partition
from contracts.session_event import DEVICE
from contracts.session_record import CONNECTED, OFFLINE, SessionRecord
from contracts.subscription_record import DEVICE_KIND, SubscriptionRecord
from edge.gateway.kafka_clients import producer_config
from identity.database import open_database
from identity.logins import Logins
from identity.roles import Role
from identity.users import Users

NODES = 3
_BEGAN_MS = 1_764_410_000_000
_SECONDS = 300.0


def sessions(count: int) -> Iterator[tuple[str, SessionRecord]]:
    """So many devices, a tenth of them away."""
    for number in range(count):
        is_away = number % 10 == 9
        at_ms = _BEGAN_MS + number * 7
        yield (
            f"plant-{number % 40}/line-{number % 7}/device-{number:06}",
            SessionRecord(
                OFFLINE if is_away else CONNECTED, f"gw{number % NODES + 1}", "0" * 32, f"{number:032x}", 3_600, 5,
                DEVICE, at_ms, at_ms + 60_000 if is_away else 0, True,
                user_name=f"plant-{number % 40}", address=f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",
                keep_alive=60,
            ),
        )  # fmt: skip


def write_cluster(kafka: str, topics: KafkaTopics, count: int, subscription_partitions: int = 2) -> None:
    """Write sessions, and two subscriptions of each."""
    producer = Producer(producer_config(kafka) | {"queue.buffering.max.messages": 1_000_000, "linger.ms": 20})
    for client_id, session in sessions(count):
        producer.produce(
            topics.sessions, session_record.encode(session), session_record.session_key(client_id)
        )
        for filter in (f"to/{client_id}/#", "news/+"):
            record = SubscriptionRecord(client_id, filter, session.node, 1, kind=DEVICE_KIND)
            producer.produce(
                topics.subscriptions,
                subscription_record.encode_value(record),
                subscription_record.encode_key(client_id, filter),
                subscription_partition(filter, subscription_partitions),
            )
        producer.poll(0)
    if producer.flush(120):
        raise LoadError("Kafka does not take the sessions")


@dataclass
class Administration:
    """A running process of it."""

    pid: int
    http: httpx.Client
    """Logged in."""

    def wait_for(self, sessions: int) -> dict[str, Any]:
        """The view, once it is up and has so many sessions.

        Raises:
            LoadError: It has not in time.
        """
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            view: dict[str, Any] = self.http.get("/view").json()
            if view["state"] == "up" and view["sessions"] == sessions and not view["records_behind"]:
                return view
            time.sleep(0.05)
        raise LoadError(f"the administration does not see {sessions} sessions")

    def seconds(self, path: str, params: dict[str, str | int | bool]) -> float:
        """How long one request takes.

        Raises:
            LoadError: It fails.
        """
        began_at = time.perf_counter()
        answer = self.http.get(path, params=params)
        elapsed = time.perf_counter() - began_at
        if answer.status_code != 200:
            raise LoadError(f"{path} {params}: {answer.text}")
        return elapsed


@contextmanager
def administration(kafka: str, prefix: str, folder: Path) -> Iterator[Administration]:
    """Run `sluicemq admin` on a cluster, with a database of its own, and a token for whoever asks."""
    folder.mkdir(parents=True, exist_ok=True)
    url = f"sqlite:///{folder}/identity.db"
    database = open_database(url)
    try:
        users = Users(database)
        if users.count() == 0:
            users.add("bench", "a-long-password", Role.ADMINISTRATOR)
        token = Logins(database).open("bench", 3_600, f"bench-{time.time_ns()}")
    finally:
        database.close()
    command = [
        sys.executable, "-m", "admin", "admin", "--database", url, "--listen", "127.0.0.1:0",
        "--kafka", kafka, "--topic-prefix", prefix,
    ]  # fmt: skip
    with subprocess.Popen(command, env=os.environ.copy(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            mark, _, where = process.stdout.readline().partition(" ")
            if mark != LISTENING:
                raise LoadError("the administration does not start")
            headers = {"Authorization": f"Bearer {token}"}
            base = json.loads(where)["http"] + PREFIX
            with httpx.Client(base_url=base, headers=headers, timeout=60) as http:
                yield Administration(process.pid, http)
        finally:
            process.terminate()
