"""What an administrator changes about a session without a connection, and what is replied. Pure.

Where there is a connection its gateway does it, as if the client had asked (changes.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from contracts.command_answer import DONE, CommandAnswer
from contracts.session_event import APPLICATION, CommandGiven, Subscription
from contracts.session_record import SessionRecord, subscription_key
from contracts.shared_record import is_group
from contracts.subscription_record import APPLICATION_KIND, DEVICE_KIND
from contracts.topics import is_exclusive
from edge.gateway.exclusive.exclusive import together
from edge.gateway.sessions.effects import Effect, Reply, Store, Subscribe, Unsubscribe

SUCCESS, NO_SUBSCRIPTION_EXISTED = 0x00, 0x11
IMPLEMENTATION_SPECIFIC, FILTER_INVALID = 0x83, 0x8F
"""Reason codes, as SUBACK and UNSUBACK have them."""


def reply(event: CommandGiven, outcome: str, reasons: tuple[int, ...] = ()) -> Reply:
    """The answer to a command."""
    return Reply(CommandAnswer(event.command, outcome, reasons))


def changed(
    client_id: str, session: SessionRecord, held: dict[str, Subscription], event: CommandGiven
) -> Iterator[Effect]:
    """Change the subscriptions of a session that has no connection.

    Args:
        client_id: Whose.
        session: Its session.
        held: Its subscriptions by filter, which are changed.
        event: What is wanted.
    """
    kind = APPLICATION_KIND if session.client_type == APPLICATION else DEVICE_KIND
    reasons: list[int] = []
    for wanted in event.subscriptions:
        reason = _refusal(wanted.filter, kind)
        reasons.append(wanted.qos if reason is None else reason)
        if reason is None:
            before = held.get(wanted.filter)
            floors = wanted.floors if before is None else before.floors  # replaced, nothing is missed
            held[wanted.filter] = made = replace(wanted, floors=floors, by_administrator=True)
            yield Store(subscription_key(client_id, made.filter), made)
            yield Subscribe(client_id, session.node, made, kind)
    for filter in event.filters:
        gone = [one for one in together(filter, held) if held.pop(one, None) is not None]
        reasons.append(SUCCESS if gone else NO_SUBSCRIPTION_EXISTED)
        for one in gone:
            yield Store(subscription_key(client_id, one), None)
            yield Unsubscribe(client_id, one)
    yield reply(event, DONE, tuple(reasons))


def _refusal(filter: str, kind: str) -> int | None:
    """Why a session without a connection can't have a subscription; None when it can."""
    if is_exclusive(filter):  # a gateway has to claim it for a client that is there
        return FILTER_INVALID
    if (
        is_group(filter) and kind == APPLICATION_KIND
    ):  # a gateway has to look for the entity, and to join the group
        return IMPLEMENTATION_SPECIFIC
    return None
