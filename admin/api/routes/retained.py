"""Retained messages: look for them, read one, delete one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from admin.api.caller import Clients, Operator, Viewer
from admin.api.messages_models import RetainedDetailsModel, RetainedModel
from admin.api.paging import Limit, Offset, Page, SearchOrPattern
from admin.clients.errors import NotFoundError, RejectedError
from admin.clients.retained import RetainedQuery
from contracts.errors import TopicError
from contracts.topics import parse_share, validate_filter

router = APIRouter(prefix="/retained", tags=["retained messages"])

Topic = Annotated[str, Query(min_length=1, description="The topic, whatever is in it.")]


@router.get("")
def list_retained(
    _: Viewer,
    clients: Clients,
    search: SearchOrPattern = "",
    filter: Annotated[str | None, Query(description="Those whose topics match, such as `a/+/#`.")] = None,
    sort: Literal["topic", "size", "published_at_ms"] = "topic",
    descending: bool = False,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[RetainedModel]:
    """List retained messages."""
    if filter is not None:
        try:
            validate_filter(filter)
            if parse_share(filter) is not None:
                raise RejectedError(
                    "shared subscriptions get nothing retained: give the filter behind the group"
                )
        except TopicError as error:
            raise RejectedError(str(error)) from None
    with clients.view.reading() as view:
        total, found = view.retained.find(RetainedQuery(search, filter, sort, descending), offset, limit)
    return Page(total=total, items=[RetainedModel.of(one) for one in found])


@router.get("/message")
def show_retained(_: Viewer, clients: Clients, topic: Topic) -> RetainedDetailsModel:
    """Show what is retained of a topic, with its payload."""
    with clients.view.reading() as view:
        message = view.retained.get(topic)
    if message is None:
        raise NotFoundError(f"nothing is retained of {topic!r}")
    return RetainedDetailsModel.whole(message, clients.payloads.read(topic, message.place))


@router.delete("/message", status_code=HTTPStatus.NO_CONTENT)
def delete_retained(_: Operator, clients: Clients, topic: Topic) -> None:
    """Delete what is retained of a topic, as an empty retained publish does."""
    clients.delete_retained(topic)
