"""`sluicemq gateway`: one gateway, for production."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from admin.cli.addresses import parse_address
from admin.cli.telemetry import ListenMetrics, LogFormatName, LogLevelName, read_telemetry
from admin.errors import AdminError, UsageError


def gateway(
    node: Annotated[
        str,
        typer.Option(
            envvar="TB_SERVICE_ID", help="This gateway's id: stable over restarts, unlike any other's."
        ),
    ],
    kafka: Annotated[
        str, typer.Option(envvar="TB_KAFKA_SERVERS", help="Kafka bootstrap servers, HOST:PORT,HOST:PORT.")
    ],
    listen: Annotated[
        str | None, typer.Option(help="Address to accept MQTT clients on.", show_default="127.0.0.1:1883")
    ] = None,
    listen_ws: Annotated[
        str | None,
        typer.Option(
            "--listen-ws",
            help="Address to accept MQTT over WebSocket on, at the path /mqtt.",
            show_default="none, or 127.0.0.1:8084 with LISTENER_WS_ENABLED",
        ),
    ] = None,
    listen_tls: Annotated[
        str | None,
        typer.Option(
            "--listen-tls",
            help="Address to accept MQTT over TLS on; LISTENER_SSL_PEM_CERT and LISTENER_SSL_PEM_KEY name its files.",
            show_default="none, or 127.0.0.1:8883 with LISTENER_SSL_ENABLED",
        ),
    ] = None,
    listen_wss: Annotated[
        str | None,
        typer.Option(
            "--listen-wss",
            help="Address to accept MQTT over WebSocket over TLS on, at the path /mqtt.",
            show_default="none, or 127.0.0.1:8085 with LISTENER_WSS_ENABLED",
        ),
    ] = None,
    topic_prefix: Annotated[
        str | None, typer.Option(help="First part of all Kafka topic names.", show_default="tbmq")
    ] = None,
    listen_metrics: ListenMetrics = None,
    log_format: LogFormatName = "text",
    log_level: LogLevelName = "warning",
) -> None:
    """Run one gateway until SIGTERM or Ctrl-C.

    It accepts MQTT 3.1, 3.1.1 and 5.0 clients and prints `LISTENING {json}` when it does. Its other settings come from
    the environment, by the names that docs/configuration.md lists.
    """
    # Here, not at the top: help and the other sub-commands must not wait for the data path's libraries.
    from pydantic import ValidationError

    from edge.gateway.config import GatewayConfig
    from edge.gateway.errors import GatewayError
    from edge.gateway.server import run
    from identity.errors import IdentityError
    from stores import StoreError
    from telemetry.logs import configure_logs

    # What is not given here, the configuration takes from the environment.
    given: dict[str, Any] = {"node": node, "kafka": kafka}
    if listen is not None:
        given["host"], given["port"] = parse_address(listen)
        given["tcp_enabled"] = True
    for kind, address in (("tls", listen_tls), ("ws", listen_ws), ("wss", listen_wss)):
        if address is not None:
            given[f"{kind}_host"], given[f"{kind}_port"] = parse_address(address)
            given[f"{kind}_enabled"] = True
    if topic_prefix is not None:
        given["topic_prefix"] = topic_prefix
    telemetry = read_telemetry(listen_metrics, log_format, log_level)
    given["metrics_listen"] = telemetry.listen
    try:
        config = GatewayConfig(**given)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise UsageError(f"A setting of the gateway is wrong: {wrong}.") from error
    configure_logs(telemetry.log_format, telemetry.log_level, part="gateway", node=config.node)
    try:
        run(config)
    except (GatewayError, StoreError, IdentityError) as error:
        raise AdminError(f"The gateway cannot run: {error}") from error
    except OSError as error:
        where = error.filename or f"{config.host}:{config.port}"
        raise UsageError(f"Cannot listen on {where} ({error.strerror}): give another address.") from error
