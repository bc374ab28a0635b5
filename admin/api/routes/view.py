"""How the API's view of the cluster stands."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from admin.api.caller import Parts, Viewer

router = APIRouter(tags=["view of the cluster"])


class ViewModel(BaseModel):
    """What has been read of the cluster, and what has not."""

    state: str
    """`up`, `loading`, `unreachable` (Kafka does not answer), or `not configured`."""
    detail: str = ""
    """For people; empty where all is well."""
    records_read: int = 0
    records_behind: int = 0
    """Places of Kafka's topics that are not read yet."""
    sessions: int = 0
    connected: int = 0
    subscriptions: int = 0
    retained: int = 0
    loaded_in_ms: int | None = None
    """How long it took to read what there was at the start."""


@router.get("/view")
def show_view(_: Viewer, parts: Parts) -> ViewModel:
    """Tell how far this process knows the cluster."""
    if parts.clients is None:
        return ViewModel(
            state="not configured", detail="start `sluicemq admin` with --kafka, or set TB_KAFKA_SERVERS"
        )
    view = parts.clients.view
    standing = view.follows.standing()
    with view.lock:
        return ViewModel(
            state=standing.state, detail=standing.detail, records_read=standing.records_read,
            records_behind=standing.records_behind, sessions=len(view.sessions),
            connected=view.sessions.connected, subscriptions=len(view.subscriptions),
            retained=len(view.retained), loaded_in_ms=standing.loaded_in_ms,
        )  # fmt: skip
