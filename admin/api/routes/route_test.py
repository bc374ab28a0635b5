"""Who would receive a message now."""

from __future__ import annotations

import sys
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from admin.api.caller import Clients, Viewer
from admin.api.needs import NeedsCluster
from admin.clients.subscriptions import SubscriptionQuery
from admin.clients.view import ClusterView
from admin.cluster.receivers import Message, RouteTest, Surroundings, route_test
from contracts.errors import TopicError
from contracts.session_record import CONNECTED
from contracts.topics import MAX_TOPIC_BYTES, validate_topic
from identity.errors import InvalidError

router = APIRouter(tags=["cluster"])


class RouteQuestion(BaseModel):
    """What would be published."""

    model_config = ConfigDict(extra="forbid")

    topic: Annotated[str, Field(max_length=MAX_TOPIC_BYTES)]
    qos: Annotated[int, Field(ge=0, le=2)] = 1
    client_id: str | None = None
    """Its publisher, whom subscriptions with No Local leave out."""


@router.post("/route-test")
def try_route(asked: RouteQuestion, _: Viewer, clients: Clients, cluster: NeedsCluster) -> RouteTest:
    """Tell who would receive a message, and by which way; nothing is published."""
    try:
        validate_topic(asked.topic)
    except TopicError as error:
        raise InvalidError(str(error)) from None
    table, strategies = cluster.table(), cluster.share_strategies
    with clients.view.reading() as view:
        matching = view.subscriptions.find(SubscriptionQuery(topic=asked.topic), 0, sys.maxsize)[1]
        around = Surroundings(cluster.names, lambda client: _is_connected(view, client), table, strategies)
        return route_test(Message(asked.topic, asked.qos, asked.client_id), matching, around)


def _is_connected(view: ClusterView, client_id: str) -> bool | None:
    session = view.sessions.get(client_id)
    return None if session is None else session.state == CONNECTED
