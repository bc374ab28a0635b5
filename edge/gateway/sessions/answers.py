"""Answers in records that Kafka takes: a session may have more subscriptions than fit into one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from contracts.session_event import Granted, SessionAnswer, Subscription

_PART = 256 << 10  # bytes of filters in one record: far below what the Kafka topic takes, escapes included


def parts_of(answer: SessionAnswer) -> list[SessionAnswer]:
    """The answer in parts of bounded size; all but the last are marked as partial."""
    if not isinstance(answer, Granted) or not answer.subscriptions:
        return [answer]
    portions = list(portions_of(answer.subscriptions))
    partial = [
        replace(answer, subscriptions=portion, inbound=(), application=None, is_partial=True)
        for portion in portions[:-1]
    ]
    return [*partial, replace(answer, subscriptions=portions[-1])]


def portions_of(subscriptions: tuple[Subscription, ...]) -> Iterator[tuple[Subscription, ...]]:
    """The subscriptions, in order, in portions of bounded size."""
    portion: list[Subscription] = []
    size = 0
    for subscription in subscriptions:
        size += 100 + len(subscription.filter)  # beside the filter: the options in JSON
        if portion and size > _PART:
            yield tuple(portion)
            portion, size = [], 100 + len(subscription.filter)
        portion.append(subscription)
    if portion:
        yield tuple(portion)
