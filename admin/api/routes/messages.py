"""Publish a message."""

from __future__ import annotations

from fastapi import APIRouter

from admin.api.caller import Clients, Operator
from admin.api.messages_models import GivenMessage, PublishedModel
from admin.clients.publishing import due_in

router = APIRouter(tags=["messages"])


@router.post("/messages")
def publish_message(given: GivenMessage, _: Operator, clients: Clients) -> PublishedModel:
    """Publish a message; it is delivered, and retained, as what a client publishes."""
    topic, seconds = due_in(given.topic)
    due_at_ms = clients.publisher.publish(given.record())
    return PublishedModel(topic=topic, is_published=not seconds, due_at_ms=due_at_ms)
