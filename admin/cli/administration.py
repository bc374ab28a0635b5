"""`sluicemq admin`: serve the administration's HTTP API."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from admin.cli.addresses import parse_address
from admin.cli.console import tell
from admin.cli.identity_database import DatabaseUrl, plain_errors
from admin.errors import AdminError
from contracts.kafka_topics import DEFAULT_PREFIX

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
            help="Kafka bootstrap servers, HOST:PORT,HOST:PORT; without them it knows nothing of the cluster.",
        ),
    ] = None,
    topic_prefix: Annotated[
        str, typer.Option(envvar="TB_KAFKA_TOPIC_PREFIX", help="First part of all Kafka topic names.")
    ] = DEFAULT_PREFIX,
    store: Annotated[
        str | None, typer.Option(envvar="SLUICEMQ_STORE", help="URL of the store of persistent sessions.")
    ] = None,
    message_store: Annotated[
        str | None, typer.Option(envvar="SLUICEMQ_MESSAGE_STORE", help="URL of the message store.")
    ] = None,
    statistics_store: Annotated[
        str | None, typer.Option(envvar="SLUICEMQ_STATISTICS_STORE", help="URL of the statistics.")
    ] = None,
) -> None:
    """Serve the web console and the HTTP API of the administration until Ctrl-C."""
    try:
        import uvicorn

        from admin.api.app import PREFIX, create_app
        from admin.api.services import Services
        from admin.cluster.cluster import Cluster, ClusterSettings
        from admin.cluster.sinks import SinkUrls
        from admin.console.mount import mount_console
        from admin.console.view import HOME
    except ModuleNotFoundError as error:
        raise AdminError(f"The administration needs {error.name}: install sluicemq[admin].") from error
    from identity.database import open_database

    host, port = parse_address(listen)
    with plain_errors():
        opened = open_database(database)
    cluster: Cluster | None = None
    try:
        if kafka is not None:
            urls = SinkUrls(store, message_store, statistics_store)
            cluster = Cluster(ClusterSettings(kafka, topic_prefix, urls))
        services = Services(opened, cluster=cluster)
        if services.users.count() == 0:
            tell(
                "Nobody can log in yet: `sluicemq users add NAME` adds the first user, and asks for a password."
            )
        app = create_app(services)
        mount_console(app)
        config = uvicorn.Config(app, host=host, port=port, log_level="warning", server_header=False)
        bound = config.bind_socket()
        bound.listen(
            config.backlog
        )  # Whoever has read where it listens may connect, and waits for the server.
        url = f"http://{_in_url(host)}:{bound.getsockname()[1]}"
        tell(f"The console is at {url}{HOME}/, the API at {url}{PREFIX}/docs")
        print(f"{LISTENING} {json.dumps({'http': url})}", flush=True)  # noqa: T201  (the line that scripts wait for)
        uvicorn.Server(config).run([bound])
    finally:
        if cluster is not None:
            cluster.close()
        opened.close()


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
