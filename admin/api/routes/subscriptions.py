"""Subscriptions of all clients, and changes to those of one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from admin.api.caller import Clients, Operator, Viewer
from admin.api.clients_models import GivenSubscription, SubscriptionModel
from admin.api.paging import Limit, Offset, Page, SearchOrPattern, page
from admin.api.routes.clients import ClientId
from admin.clients.errors import NotFoundError, RejectedError
from admin.clients.subscriptions import SubscriptionQuery
from contracts.errors import TopicError
from contracts.topics import canonical_filter, validate_topic

router = APIRouter(tags=["subscriptions"])

Filter = Annotated[str, Query(min_length=1, description="The filter as subscribed, share prefix included.")]


@router.get("/subscriptions")
def list_subscriptions(
    _: Viewer,
    clients: Clients,
    search: SearchOrPattern = "",
    client_id: str | None = None,
    filter: Annotated[str | None, Query(description="Exactly this filter, as subscribed.")] = None,
    topic: Annotated[str | None, Query(description="Those that match this topic.")] = None,
    share_group: str | None = None,
    node: str | None = None,
    sort: Literal["filter", "client_id", "qos", "node"] = "filter",
    descending: bool = False,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[SubscriptionModel]:
    """List subscriptions of all clients."""
    if topic is not None:
        try:
            validate_topic(topic)
        except TopicError as error:
            raise RejectedError(str(error)) from None
    wanted = None if filter is None else canonical_filter(filter)
    query = SubscriptionQuery(search, wanted, topic, share_group, node, sort, descending, client_id)
    with clients.view.reading() as view:
        total, found = view.subscriptions.find(query, offset, limit)
    return Page(total=total, items=[SubscriptionModel.of(one) for one in found])


@router.get("/client/subscriptions")
def list_subscriptions_of_client(
    _: Viewer, clients: Clients, client_id: ClientId, offset: Offset = 0, limit: Limit = 100
) -> Page[SubscriptionModel]:
    """List a client's subscriptions, by filter."""
    with clients.view.reading() as view:
        if view.sessions.get(client_id) is None:
            raise NotFoundError(f"client {client_id!r} has no session")
        found = view.subscriptions.of_client(client_id)
    return page([SubscriptionModel.of(one) for one in found], offset, limit)


@router.put("/client/subscriptions")
def put_subscription(
    given: GivenSubscription, _: Operator, clients: Clients, client_id: ClientId
) -> SubscriptionModel:
    """Subscribe a client, connected or not, as if it had asked, or change the options of its subscription.

    Its own rules do not count.
    """
    return SubscriptionModel.of(clients.subscribe(client_id, given.subscription()))


@router.delete("/client/subscriptions", status_code=HTTPStatus.NO_CONTENT)
def remove_subscription(_: Operator, clients: Clients, client_id: ClientId, filter: Filter) -> None:
    """End a client's subscription, as if it had asked."""
    clients.unsubscribe(client_id, filter)
