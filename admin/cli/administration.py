"""`sluicemq admin`: serve the administration's HTTP API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from admin.cli.addresses import parse_address
from admin.cli.console import tell
from admin.cli.identity_database import DatabaseUrl, plain_errors
from admin.cli.telemetry import ListenMetrics, LogFormatName, LogLevelName, read_telemetry
from admin.errors import AdminError, UsageError
from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX
from stores.errors import StoreUrlError
from telemetry.addresses import http_url
from telemetry.health import Asked
from telemetry.logs import configure_logs
from telemetry.server import serving

if TYPE_CHECKING:
    from admin.clients.administered import AdministeredClients

DEFAULT_ADDRESS = "127.0.0.1:8083"
LISTENING = "LISTENING"
"""What the line on standard output begins with that tells where it listens, as JSON."""


def administration(
    database: DatabaseUrl,
    listen: Annotated[
        str,
        typer.Option(
            envvar="SLUICEMQ_ADMIN_LISTEN",
            help="Where to listen. Anywhere but on loopback, put a proxy with TLS in front.",
        ),
    ] = DEFAULT_ADDRESS,
    kafka: Annotated[
        str | None,
        typer.Option(
            envvar="TB_KAFKA_SERVERS",
            help="Kafka bootstrap servers of the cluster, HOST:PORT,HOST:PORT.",
            show_default="none: only what the database of identity has is served",
        ),
    ] = None,
    topic_prefix: Annotated[
        str, typer.Option(envvar="TB_KAFKA_TOPIC_PREFIX", help="First part of all Kafka topic names.")
    ] = DEFAULT_PREFIX,
    store: Annotated[
        str | None,
        typer.Option(
            envvar="SLUICEMQ_STORE",
            help="URL of the store of persistent sessions, as the sink has it.",
            show_default="none: what waits for a client is not told",
        ),
    ] = None,
    message_store: Annotated[
        str | None,
        typer.Option(
            envvar="SLUICEMQ_MESSAGE_STORE",
            help="URL of the message store, as its sink has it.",
            show_default="none: how far that is is not told",
        ),
    ] = None,
    statistics_store: Annotated[
        str | None,
        typer.Option(
            envvar="SLUICEMQ_STATISTICS_STORE",
            help="URL of the statistics, as their sink has it.",
            show_default="none: there are no charts",
        ),
    ] = None,
    listen_metrics: ListenMetrics = None,
    log_format: LogFormatName = "text",
    log_level: LogLevelName = "warning",
) -> None:
    """Serve the web console and the HTTP API of the administration until Ctrl-C."""
    try:
        import uvicorn

        from admin.api.app import PREFIX, create_app
        from admin.api.metrics import ApiMetrics, database_check
        from admin.api.services import Services
        from admin.cluster.cluster import ClusterSettings, ObservedCluster
        from admin.cluster.sinks import SinkUrls
        from admin.console.mount import mount_console
        from admin.console.view import HOME
    except ModuleNotFoundError as error:
        raise AdminError(f"The administration needs {error.name}: install sluicemq[admin].") from error
    from identity.database import open_database

    host, port = parse_address(listen)
    telemetry = read_telemetry(listen_metrics, log_format, log_level)
    configure_logs(telemetry.log_format, telemetry.log_level, part="admin")
    with plain_errors():
        opened = open_database(database)
    clients = cluster = None
    try:
        if kafka is not None:
            clients = _open_clients(kafka, topic_prefix, store)
            cluster = ObservedCluster(
                ClusterSettings(kafka, topic_prefix, SinkUrls(store, message_store, statistics_store))
            )
        services = Services(opened, clients=clients, cluster=cluster)
        if services.users.count() == 0:
            tell(
                "Nobody can log in yet: `sluicemq users add NAME` adds the first user, and asks for a password."
            )
        metrics = ApiMetrics()
        app = create_app(services, metrics)
        mount_console(app)
        # Its loggers write as all others here do.
        config = uvicorn.Config(
            app, host=host, port=port, log_config=None, access_log=False, server_header=False
        )
        bound = config.bind_socket()
        bound.listen(
            config.backlog
        )  # Whoever has read where it listens may connect, and waits for the server.
        url = http_url((host, bound.getsockname()[1]))
        tell(f"The console is at {url}{HOME}/, the API at {url}{PREFIX}/docs")
        print(f"{LISTENING} {json.dumps({'http': url})}", flush=True)  # noqa: T201  (the line that scripts wait for)
        with serving(metrics.registry, telemetry.listen, {"database": Asked(database_check(opened))}):
            uvicorn.Server(config).run([bound])
    except OSError as error:
        if not error.filename:
            raise
        raise UsageError(
            f"Cannot listen on {error.filename} ({error.strerror}): give another address."
        ) from error
    finally:
        for part in (clients, cluster):
            if part is not None:
                part.close()
        opened.close()


def _open_clients(kafka: str, prefix: str, store: str | None) -> AdministeredClients:
    """Begin to follow a cluster's clients, whether it answers yet or not.

    Raises:
        UsageError: The prefix or the store's URL can't be one.
    """
    from admin.clients.administered import open_clients
    from stores.open import open_store, require_known_scheme

    try:
        if store is None:
            return open_clients(kafka, prefix, None)
        require_known_scheme(store)
        return open_clients(kafka, prefix, lambda: open_store(store, prefix=prefix))
    except (ContractError, StoreUrlError) as error:
        raise UsageError(f"{error}.") from error
