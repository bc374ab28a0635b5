"""`sluicemq up`: keep a whole stack running on this machine."""

from __future__ import annotations

import json
import signal
import threading
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from admin.cli.console import tell
from admin.cli.identity_database import OptionalDatabaseUrl, identity_database
from admin.stack.administration import Administration, can_administrate
from admin.stack.embedded import Stack, StackOptions, embedded_stack
from admin.stack.kafka import HEAP_MIB
from contracts.archive import ArchiveFormat

ADMINISTRATION_PORT = 8083
WEBSOCKET_PORT = 8084
"""What clients expect, as of a gateway alone."""
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopRequested(BaseException):
    """A signal asked for the end. It passes through all that is being waited for, as KeyboardInterrupt does."""


def up(
    gateways: Annotated[int, typer.Option(min=1, max=64, help="How many gateways.")] = 2,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="The first gateway's port; the others follow it. 0 takes free ports."
        ),
    ] = 1883,
    ws_port: Annotated[
        int | None,
        typer.Option(
            "--ws-port",
            min=0,
            max=65535,
            help="The same for MQTT over WebSocket.",
            show_default=f"{WEBSOCKET_PORT}, or free ones with --port 0",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address that the gateways listen on.")] = "127.0.0.1",
    data: Annotated[Path, typer.Option(help="Folder that keeps everything; made when it is missing.")] = Path(
        "data"
    ),
    partitions: Annotated[
        int, typer.Option(min=1, max=64, help="Partitions of the Kafka topic that all messages go through.")
    ] = 4,
    batch_seconds: Annotated[
        int | None,
        typer.Option(min=5, help="Length of the router's batches.", show_default="the router's own"),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            envvar="SLUICEMQ_STORE",
            help="Where messages for absent clients are kept: the URL of a Redis, SQLite or PostgreSQL.",
            show_default="an own Valkey server",
        ),
    ] = None,
    archive: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Archive all messages there: a folder, or a URI that Spark knows."),
    ] = None,
    archive_format: Annotated[
        ArchiveFormat, typer.Option(help="Files of Parquet, or a table of Delta Lake.")
    ] = ArchiveFormat.PARQUET,
    message_store: Annotated[
        str | None,
        typer.Option(
            envvar="SLUICEMQ_MESSAGE_STORE",
            metavar="URL",
            help="Keep confirmed messages of QoS 1 and 2 there: the URL of an SQLite or PostgreSQL.",
        ),
    ] = None,
    statistics: Annotated[
        bool, typer.Option(help="Whether what gateways count is kept in SQL, for charts.")
    ] = True,
    statistics_store: Annotated[
        str | None,
        typer.Option(
            envvar="SLUICEMQ_STATISTICS_STORE",
            metavar="URL",
            help="Where: the URL of an SQLite or PostgreSQL.",
            show_default="statistics.db in the data folder",
        ),
    ] = None,
    kafka_port: Annotated[int, typer.Option(min=0, max=65535, help="Kafka's port. 0 takes a free one.")] = 0,
    kafka_heap: Annotated[
        int, typer.Option(min=256, help="MiB of Kafka's heap; thousands of applications need 1024.")
    ] = HEAP_MIB,
    database: OptionalDatabaseUrl = None,
    admin: Annotated[bool, typer.Option(help="Whether there are a web console and its API.")] = True,
    admin_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="The web console's port.",
            show_default=f"{ADMINISTRATION_PORT}, or a free one with --port 0",
        ),
    ] = None,
    spark_workers: Annotated[
        int,
        typer.Option(min=0, max=16, help="Run router and sinks on a Spark cluster with so many workers."),
    ] = 0,
) -> None:
    """Run Kafka, the router and the gateways on this machine until Ctrl-C.

    When it accepts clients it prints one line, `READY {json}`: `mqtt` (a list of node, host, port and websocket_port),
    `kafka` (the bootstrap server), `data`, `admin` (the web console's URL), and `metrics` (where each part's are). A
    part that dies is restarted. A later start on the same folder goes on with its data.
    """
    if ws_port is None:
        ws_port = WEBSOCKET_PORT if port else 0
    if admin_port is None:
        admin_port = ADMINISTRATION_PORT if port else 0
    if admin and not can_administrate():
        tell("There is no web console: install sluicemq[admin] to have one.")
        admin = False
    options = StackOptions(
        data,
        gateways,
        host,
        port,
        ws_port,
        kafka_port,
        kafka_heap,
        partitions,
        batch_seconds,
        store=store,
        archive=archive,
        archive_format=archive_format,
        message_store=message_store,
        statistics=statistics,
        statistics_store=statistics_store,
        administration=admin,
        administration_port=admin_port,
        database=database,
        spark_workers=spark_workers,
    )
    for number in STOP_SIGNALS:
        signal.signal(number, request_stop)
    try:
        with embedded_stack(options, tell) as stack:
            print(ready_line(stack), flush=True)  # noqa: T201  (the line that scripts wait for)
            if stack.administration:
                tell_of_console(stack.administration, is_own=database is None)
            threading.Event().wait()
    except StopRequested:
        tell("Stopped.")


def tell_of_console(administration: Administration, *, is_own: bool) -> None:
    """Tell where the console is, and as long as there is no user, how to make the first one.

    Args:
        administration: Where it is.
        is_own: Whether its database is the stack's own, whose URL nobody has set; another's may have a password in it.
    """
    tell(f"The web console is at {administration.url}/")
    with identity_database(administration.database) as repositories:
        if repositories.users.count():
            return
    setting = f"SLUICEMQ_DATABASE={administration.database} " if is_own else ""
    tell(f"Nobody can log in yet. Create the administrator with:  {setting}sluicemq users add NAME")


def ready_line(stack: Stack) -> str:
    """Return the line that says that a stack accepts clients."""
    return f"READY {where_it_is(stack)}"


def where_it_is(stack: Stack) -> str:
    """Return, as JSON, where a stack accepts clients, where its Kafka is, and its folder."""
    where = {
        "mqtt": [asdict(address) for address in stack.mqtt],
        "kafka": stack.kafka,
        "data": str(stack.data),
        "admin": stack.administration and stack.administration.url,
        "metrics": dict(stack.metrics),
    }
    return json.dumps(where)


def request_stop(_number: int, _frame: FrameType | None) -> None:
    """Raise StopRequested, once: the handler of what asks for the end."""
    for number in STOP_SIGNALS:  # An impatient second Ctrl-C must not cut the clean stop short.
        signal.signal(number, signal.SIG_IGN)
    tell("Stopping …")
    raise StopRequested
