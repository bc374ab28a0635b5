"""Clients: who there is, what becomes of each, and what is to become of it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from admin.api.caller import Clients, Operator, Viewer
from admin.api.clients_models import ClientDetailsModel, ClientModel
from admin.api.paging import Limit, Offset, Page, SearchOrPattern
from admin.clients.errors import NotFoundError
from admin.clients.sessions import ClientQuery
from admin.clients.waiting import ApplicationMessages, DeviceMessages
from contracts.session_event import APPLICATION

router = APIRouter(tags=["clients"])

ClientId = Annotated[str, Query(min_length=1, description="The client id, whatever is in it.")]
Sort = Literal[
    "client_id", "user_name", "node", "state", "client_type", "protocol", "address", "connected_at_ms",
    "disconnected_at_ms",
]  # fmt: skip


@router.get("/clients")
def list_clients(
    _: Viewer,
    clients: Clients,
    search: SearchOrPattern = "",
    connected: bool | None = None,
    client_type: Literal["DEVICE", "APPLICATION"] | None = None,
    node: str | None = None,
    sort: Sort = "client_id",
    descending: bool = False,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[ClientModel]:
    """List clients that have a session, connected or not."""
    query = ClientQuery(search, connected, client_type, node, sort, descending)
    with clients.view.reading() as view:
        total, found = view.sessions.find(query, offset, limit)
        counts = [view.subscriptions.count(client_id) for client_id, _session in found]
    items = [
        ClientModel.of(client_id, session, count)
        for (client_id, session), count in zip(found, counts, strict=True)
    ]
    return Page(total=total, items=items)


@router.get("/client")
def show_client(_: Viewer, clients: Clients, client_id: ClientId) -> ClientDetailsModel:
    """Show a client: its session, its subscriptions, what waits for it, and what all that means."""
    with clients.view.reading() as view:
        session = view.sessions.get(client_id)
        place, will = view.sessions.place(client_id), view.sessions.will(client_id)
        subscriptions = view.subscriptions.of_client(client_id)
    if session is None:
        raise NotFoundError(f"client {client_id!r} has no session")
    messages: DeviceMessages | ApplicationMessages | None = None
    if session.is_persistent:
        if session.client_type == APPLICATION:
            messages = clients.waiting.of_application(client_id, place)
        else:
            messages = clients.waiting.of_device(client_id)
    return ClientDetailsModel.whole(client_id, session, subscriptions, messages, will)


@router.post("/client/disconnect", status_code=HTTPStatus.NO_CONTENT)
def disconnect_client(_: Operator, clients: Clients, client_id: ClientId) -> None:
    """End a client's connection; MQTT 5 clients are told 0x98. Its session stays, if it outlives its connections."""
    clients.disconnect(client_id)


@router.delete("/client", status_code=HTTPStatus.NO_CONTENT)
def clear_client(_: Operator, clients: Clients, client_id: ClientId) -> None:
    """End a client's connection and its session: subscriptions, and messages that wait for it, are gone."""
    clients.clear(client_id)
