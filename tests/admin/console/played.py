"""A console over a cluster that is played, for a process of its own.

The API is the real one, on a real database; Kafka, gateways and router are the tests' of `tests/admin`.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace

import uvicorn

from admin.api.app import create_app
from admin.api.services import Services
from admin.cli.administration import LISTENING
from admin.cluster.kafka import Group
from admin.cluster.sinks import SinkUrls
from admin.cluster.states import StateView
from admin.console.mount import mount_console
from contracts.historical_record import HistoricalRecord
from contracts.publish_record import PublishRecord
from contracts.session_event import APPLICATION, NEVER, Subscription
from contracts.state_record import Latency, Rates
from identity.database import open_database
from stores.historical.store import StatisticsStore
from tests.admin.api.cluster import PlayedCluster
from tests.admin.cluster.house import GATEWAY, ROUTER, PlayedParts

SECONDS_BETWEEN = 2.0
"""So often do parts say how they are."""


def played_clients() -> PlayedCluster:
    """Clients of all kinds, what they subscribe to, and what is retained."""
    cluster = PlayedCluster()
    for number in range(60):
        cluster.connect(
            f"lamp-{number:02}", f"gw{1 + number % 2}", 3600, address=f"192.0.2.{number}", keep_alive=60
        )
        cluster.subscribe(f"lamp-{number:02}", Subscription(f"lamps/{number:02}/set", 1))
    cluster.connect("billing", expiry=NEVER, client_type=APPLICATION, protocol=4)
    cluster.connect("away", expiry=3600, user_name="ann")
    cluster.leave("away")
    cluster.subscribe(
        "lamp-00", Subscription("lamps/+/all", 2, no_local=True), Subscription("$share/g/jobs/#")
    )
    for number in range(3):
        payload = json.dumps({"on": True, "level": number}).encode()
        cluster.retain(PublishRecord(f"lamps/{number}/state", payload, f"lamp-{number:02}", "gw1", 1, True))
    return cluster


def played_parts(statistics: str) -> PlayedParts:
    """What is known of parts, and an hour of statistics."""
    parts = PlayedParts(SinkUrls(statistics=statistics))
    parts.states.view = StateView()
    parts.kafka.known_groups["sluicemq-sessions"] = Group("sluicemq-sessions", "Stable", ["gw1"], {})
    store = StatisticsStore(statistics)
    now_ms = round(time.time() * 1000)
    steps = [HistoricalRecord("gw1", now_ms - 60_000 * ago, _counted(60 - ago)) for ago in range(60, 0, -1)]
    store.write(0, None, len(steps), steps)
    store.close()
    return parts


def _counted(minutes: int) -> dict[str, int]:
    """What a gateway may have counted since it started, so many minutes ago."""
    waves = sum(6_000 + 400 * (minute % 9) for minute in range(minutes))
    return {
        "publishes": waves, "deliveries": 2 * waves, "dropped_slow": minutes // 7, "dropped_expired": minutes // 11,
        "connects": 31 + minutes, "refused": minutes // 15, "unauthorized": minutes // 20, "takeovers": minutes // 9,
    }  # fmt: skip


def keep_saying(parts: PlayedParts, stop: threading.Event) -> None:
    """Have the parts say how they are, until it stops."""
    began_ms = round(time.time() * 1000) - 9_000_000
    gateway = replace(
        GATEWAY, started_at_ms=began_ms, version="0.1.0", connections=31, subscriptions=33, memory_bytes=96_000_000,
        cpu_percent=11.5, listeners={"tcp": "127.0.0.1:1883", "ws": "127.0.0.1:8084"},
        router=replace(GATEWAY.router, latency_ms=Latency(3.9, 4.2, 17.5, 60), backlog=0),
        share_strategies={"": "round_robin"},
        counters={"connects": 31, "publishes": 912_345, "deliveries": 1_824_690, "dropped_slow": 3, "refused": 2},
    )  # fmt: skip
    router = replace(
        ROUTER, started_at_ms=began_ms, version="0.1.0", trigger="realtime", rollover_seconds=60.0, generation=4,
        generation_started_at_ms=began_ms + 240_000, rollovers=3, shapes=4, last_rollover_ms=840,
    )  # fmt: skip
    listeners = {"tcp": "127.0.0.1:1884", "ws": "127.0.0.1:8085"}
    other = replace(gateway, node="gw2", listeners=listeners, connections=30)
    parts.states.say(
        parts.other("gw3", at_ms=round(time.time() * 1000), started_at_ms=began_ms, is_stopped=True)
    )
    for number in range(10**9):
        at_ms = round(time.time() * 1000)
        rates = Rates(100.0 + number % 7, 200.0 + number % 5, 0.0)
        parts.states.say(
            replace(gateway, at_ms=at_ms, messages=rates),
            replace(other, at_ms=at_ms, messages=Rates(60.0 + number % 4, 118.0 + number % 9, 0.0)),
            replace(router, at_ms=at_ms),
        )
        if stop.wait(SECONDS_BETWEEN):
            return


def main(database: str, statistics: str) -> None:
    """Serve until the process is told to end."""
    opened = open_database(database)
    parts = played_parts(statistics)
    stop = threading.Event()
    threading.Thread(target=keep_saying, args=(parts, stop), daemon=True).start()
    app = create_app(Services(opened, clients=played_clients().services, cluster=parts.cluster))
    mount_console(app)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning")
    bound = config.bind_socket()
    bound.listen(config.backlog)
    where = {"http": f"http://127.0.0.1:{bound.getsockname()[1]}"}
    print(f"{LISTENING} {json.dumps(where)}", flush=True)  # noqa: T201  (the line that the tests wait for)
    uvicorn.Server(config).run([bound])
    stop.set()
