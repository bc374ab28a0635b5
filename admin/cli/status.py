"""`sluicemq status`: the cluster in the terminal, live.

It reads Kafka itself, not the API: whoever looks at a cluster in trouble needs neither a token nor one more process
that runs.
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from admin.cli.console import out
from contracts.kafka_topics import DEFAULT_PREFIX

if TYPE_CHECKING:
    from admin.cli.status_page import Page
    from admin.cluster.cluster import ObservedCluster
    from admin.cluster.nodes import Node, RouterDetails
    from admin.cluster.overview import Overview


def status(
    kafka: Annotated[
        str, typer.Option(envvar="TB_KAFKA_SERVERS", help="Kafka bootstrap servers, HOST:PORT,HOST:PORT.")
    ],
    topic_prefix: Annotated[
        str, typer.Option(envvar="TB_KAFKA_TOPIC_PREFIX", help="First part of all Kafka topic names.")
    ] = DEFAULT_PREFIX,
    once: Annotated[bool, typer.Option("--once", help="Print it once, and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it once as JSON, and end.")] = False,
    interval: Annotated[float, typer.Option(min=0.2, max=3600, help="Seconds between two looks.")] = 2.0,
) -> None:
    """Show gateways, sessions, messages and the router, live, until Ctrl-C.

    Exit status 1 with --once and --json when something is amiss.
    """
    from admin.cluster.cluster import ClusterSettings, open_cluster

    with open_cluster(ClusterSettings(kafka, topic_prefix)) as cluster:
        if as_json or once or not sys.stdout.isatty():
            _once(cluster, as_json=as_json)
        else:
            _live(cluster, interval)


def _once(cluster: ObservedCluster, *, as_json: bool) -> None:
    from admin.cluster.nodes import nodes_of, router_of

    found = cluster.overview()
    if as_json:
        view = cluster.states.view
        shown = {
            "overview": asdict(found),
            "nodes": [asdict(node) for node in nodes_of(view)],
            "router": asdict(router_of(view)),
        }
        print(json.dumps(shown))  # noqa: T201 - for programs; rich would wrap and colour it
    else:
        out.print(_page(cluster).render(out.width))
    if found.warnings:
        raise typer.Exit(1)


def _live(cluster: ObservedCluster, interval: float) -> None:
    from rich.live import Live

    cluster.overview()  # an error is better told than shown on a screen that is cleared
    page, tick = _page(cluster), threading.Event()
    try:
        with Live(page.render(out.width), console=out, screen=True, auto_refresh=False) as live:
            while not tick.wait(interval):
                page.take(*_look(cluster))
                live.update(page.render(out.width), refresh=True)
    except KeyboardInterrupt:
        return


def _page(cluster: ObservedCluster) -> Page:
    from admin.cli.status_page import Page

    page = Page()
    page.take(*_look(cluster))
    return page


def _look(cluster: ObservedCluster) -> tuple[Overview, list[Node], RouterDetails]:
    from admin.cluster.nodes import nodes_of, router_of

    view = cluster.states.view
    return cluster.overview(), nodes_of(view), router_of(view)
