"""`sluicemq admin`: serve the administration's HTTP API."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from admin.cli.addresses import parse_address
from admin.cli.console import tell
from admin.cli.identity_database import DatabaseUrl, plain_errors
from admin.cli.telemetry import ListenMetrics, LogFormatName, LogLevelName, read_telemetry
from admin.errors import AdminError, UsageError
from telemetry.addresses import http_url
from telemetry.health import Asked
from telemetry.logs import configure_logs
from telemetry.server import serving

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
    listen_metrics: ListenMetrics = None,
    log_format: LogFormatName = "text",
    log_level: LogLevelName = "warning",
) -> None:
    """Serve the HTTP API of the administration until Ctrl-C; `/api/v1/docs` shows what it can do."""
    try:
        import uvicorn

        from admin.api.app import PREFIX, create_app
        from admin.api.metrics import ApiMetrics, database_check
        from admin.api.services import Services
    except ModuleNotFoundError as error:
        raise AdminError(f"The administration needs {error.name}: install sluicemq[admin].") from error
    from identity.database import open_database

    host, port = parse_address(listen)
    telemetry = read_telemetry(listen_metrics, log_format, log_level)
    configure_logs(telemetry.log_format, telemetry.log_level, part="admin")
    with plain_errors():
        opened = open_database(database)
    try:
        services = Services(opened)
        if services.users.count() == 0:
            tell(
                "Nobody can log in yet: `sluicemq users add NAME` adds the first user, and asks for a password."
            )
        metrics = ApiMetrics()
        config = uvicorn.Config(
            # Its loggers write as all others here do.
            create_app(services, metrics), host=host, port=port, log_config=None, access_log=False,
            server_header=False,
        )  # fmt: skip
        bound = config.bind_socket()
        bound.listen(
            config.backlog
        )  # Whoever has read where it listens may connect, and waits for the server.
        url = http_url((host, bound.getsockname()[1]))
        tell(f"The administration listens on {url}{PREFIX}/docs")
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
        opened.close()
