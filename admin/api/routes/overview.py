"""The cluster in a few numbers, its gateways, its router, and what gateways have counted over time."""

from __future__ import annotations

import time
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from admin.api.caller import Operator, Viewer
from admin.api.needs import NeedsCluster, NeedsStatistics
from admin.api.problems import ProblemError
from admin.cluster.nodes import Node, RouterDetails, nodes_of, router_of
from admin.cluster.overview import Overview
from admin.cluster.states import LIVING
from contracts.state_record import gateway_key
from identity.errors import InvalidError

_HOUR_MS = 3_600_000
_STEPS = 120
"""Points of a chart where nobody says how many."""
_MOST_STEPS = 2_000
_LEAST_STEP_SECONDS = 60

router = APIRouter(tags=["cluster"])


class Series(BaseModel):
    """A counter of a gateway over time."""

    node: str
    counter: str
    points: list[tuple[int, int, int]]
    """When a step begins (ms since 1970), the last value in it, and how far it rose in it."""


class Statistics(BaseModel):
    """Counters over time."""

    from_ms: int
    to_ms: int
    step_ms: int
    series: list[Series]


class Counted(BaseModel):
    """Of what there are statistics."""

    nodes: list[str]
    counters: list[str]


@router.get("/overview")
def show_overview(_: Viewer, cluster: NeedsCluster) -> Overview:
    """Show the cluster in a few numbers, and what is amiss."""
    return cluster.overview()


@router.get("/nodes")
def list_nodes(_: Viewer, cluster: NeedsCluster) -> list[Node]:
    """List the gateways; those that are silent, too, until somebody takes them off the list."""
    return nodes_of(cluster.states.view)


@router.get("/nodes/{node}")
def show_node(node: str, _: Viewer, cluster: NeedsCluster) -> Node:
    """Show a gateway."""
    for found in nodes_of(cluster.states.view):
        if found.node == node:
            return found
    raise _no_node(node)


@router.delete("/nodes/{node}", status_code=HTTPStatus.NO_CONTENT)
def forget_node(node: str, _: Operator, cluster: NeedsCluster) -> None:
    """Take a gateway that is silent or has stopped off the list."""
    found = {state.node: seen for state, seen in cluster.states.view.gateways()}.get(node)
    if found is None:
        raise _no_node(node)
    if found.life == LIVING:
        raise ProblemError(HTTPStatus.CONFLICT, f"{node} lives: stop it first")
    cluster.forget(gateway_key(node))


@router.get("/router")
def show_router(_: Viewer, cluster: NeedsCluster) -> RouterDetails:
    """Show the router."""
    return replace(router_of(cluster.states.view), table=cluster.table())


@router.get("/statistics")
def show_statistics(
    _: Viewer,
    store: NeedsStatistics,
    counter: Annotated[list[str], Query(description="Which; may be given several times.", min_length=1)],
    from_: Annotated[
        int | None, Query(alias="from", ge=0, description="ms since 1970; by default an hour ago.")
    ] = None,
    to: Annotated[int | None, Query(ge=0, description="ms since 1970; by default now.")] = None,
    step: Annotated[int | None, Query(ge=_LEAST_STEP_SECONDS, description="Seconds.")] = None,
    node: Annotated[str | None, Query(description="Of one gateway; left out: of all.")] = None,
) -> Statistics:
    """Show counters over time, for charts; a gateway tells them once a minute."""
    to_ms = round(1000 * time.time()) if to is None else to
    from_ms = max(0, to_ms - _HOUR_MS) if from_ is None else from_
    if from_ms >= to_ms:
        raise InvalidError("`from` is not before `to`: they are ms since 1970")
    seconds = max(_LEAST_STEP_SECONDS, (to_ms - from_ms) // 1000 // _STEPS) if step is None else step
    if (to_ms - from_ms) > _MOST_STEPS * seconds * 1000:
        raise InvalidError(f"that is more than {_MOST_STEPS} steps: make `step` longer, or the time shorter")
    series = []
    for name in dict.fromkeys(counter):
        by_node: dict[str, list[tuple[int, int, int]]] = {}
        for point in store.points(name, from_ms, to_ms, seconds * 1000, node):
            by_node.setdefault(point.node, []).append((point.at_ms, point.value, point.increase))
        series += [Series(node=one, counter=name, points=points) for one, points in by_node.items()]
    return Statistics(from_ms=from_ms, to_ms=to_ms, step_ms=seconds * 1000, series=series)


@router.get("/statistics/counters")
def list_counters(_: Viewer, store: NeedsStatistics) -> Counted:
    """List what there are statistics of."""
    return Counted(nodes=store.nodes(), counters=store.counters())


def _no_node(node: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.NOT_FOUND, f"no gateway {node!r} has said anything: `/nodes` lists those that have"
    )
