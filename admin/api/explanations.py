"""A session's state in words, for people who look at it."""

from __future__ import annotations

from admin.clients.waiting import ApplicationMessages, DeviceMessages
from admin.words import ago, counted, duration, moment
from contracts.session_event import NEVER
from contracts.session_record import CONNECTED, LINGERING, KeptWill, SessionRecord


def explain(
    session: SessionRecord, subscriptions: int, messages: DeviceMessages | ApplicationMessages | None,
    will: KeptWill | None, now_ms: int,
) -> str:  # fmt: skip
    """Some sentences, in the order in which one would ask; `now_ms`: since 1970."""
    sentences = [
        _where(session, now_ms),
        _how_long(session, now_ms),
        _subscribed(subscriptions),
        _waiting(session, messages),
    ]
    if will is not None and session.state == CONNECTED:
        sentences.append(f"If it is lost, its will is published to {will.will.topic!r}.")
    if session.is_cleared:
        sentences.append(
            "An administrator has ended its session: it is gone as soon as its connection is over."
        )
    if session.warning:
        sentences.append(f"Note: {session.warning}.")
    return " ".join(filter(None, sentences))


def _where(session: SessionRecord, now_ms: int) -> str:
    place = f" from {session.address}" if session.address else ""
    if session.state == CONNECTED:
        since = duration((now_ms - session.connected_at_ms) / 1000)
        return f"Connected to {session.node}{place} for {since}."
    ended = f"Its last connection, to {session.node}{place}, ended {ago(session.ended_at_ms, now_ms)}."
    if session.state == LINGERING:
        return f"{ended} Its will waits there, in case it comes back."
    return ended


def _how_long(session: SessionRecord, now_ms: int) -> str:
    if session.expiry == NEVER:
        return "Its session stays until it is ended."
    if session.expires_at_ms is not None:
        ends = ago(session.expires_at_ms, now_ms)
        return f"Its session ends {ends} ({moment(session.expires_at_ms)}) unless it is back by then."
    if not session.expiry:
        return "Its session ends with its connection."
    return f"Its session is kept for {duration(session.expiry)} after it goes."


def _subscribed(subscriptions: int) -> str:
    if not subscriptions:
        return "It has no subscription, so it gets nothing."
    return f"It has {counted(subscriptions, 'subscription')}."


def _waiting(session: SessionRecord, messages: DeviceMessages | ApplicationMessages | None) -> str:
    if messages is None:
        return "Nothing is kept for it: what comes while it is away is lost to it."
    if messages.detail:
        return f"What waits for it is not known: {messages.detail}."
    if isinstance(messages, ApplicationMessages):
        return f"{messages.lag} records of its Kafka topic are not done with."
    if messages.stored:
        until = "it acknowledges them" if session.state == CONNECTED else "it comes back"
        waiting = f"{counted(messages.stored, 'message')} {'waits' if messages.stored == 1 else 'wait'}"
        return f"{waiting} for it in the store until {until}."
    return "No message waits for it in the store."
