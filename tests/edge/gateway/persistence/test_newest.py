"""Copies and live messages of one topic in a session's log: what is behind is not sent."""

from __future__ import annotations

from dataclasses import replace

from contracts.persisted_record import Message
from contracts.retained_record import COPIES, SUBSCRIBED
from edge.gateway.persistence import newest as newest_module
from edge.gateway.persistence.newest import Newest


def live(offset: int, topic: str = "t", filter: str = "#") -> Message:
    return Message(1_000 + offset, "c", 0, offset, topic, filter, b"", [])


def copy(offset: int, kind: bytes = b"new", topic: str = "t") -> Message:
    last: list[tuple[str, bytes | None]] = [("topic", b""), ("id", b""), ("filter", b"")]
    headers = [("qos", b"1"), (SUBSCRIBED, kind), *last]
    return replace(live(offset, topic), source_partition=COPIES, headers=headers)


def sent(*messages: Message) -> list[int]:
    newest = Newest()
    return [message.source_offset for message in messages if not newest.is_behind(message, ["#"])]


def test_behind_a_copy_for_a_new_subscription_only_what_is_newer_comes() -> None:
    assert sent(copy(5), live(4), live(5), live(6)) == [5, 6]
    assert sent(copy(5), live(4, "u")) == [5, 4]


def test_a_subscription_that_was_there_before_loses_no_live_message() -> None:
    assert sent(copy(5, b"again"), live(4), live(5), live(6)) == [5, 4, 5, 6]
    assert sent(live(5), copy(5, b"again")) == [5, 5]


def test_a_copy_behind_a_live_message_is_not_sent() -> None:
    assert sent(live(6), copy(5)) == [6]
    assert sent(live(5), copy(5)) == [5]
    assert sent(live(6), copy(5, b"again")) == [6]


def test_of_two_copies_the_older_does_not_come_behind_the_newer() -> None:
    assert sent(copy(6), copy(5)) == [6]
    assert sent(copy(5), copy(5), copy(6)) == [5, 5, 6]  # subscribed twice, sent twice


def test_a_filter_that_was_there_before_keeps_its_messages_beside_a_new_one() -> None:
    newest = Newest()
    assert not newest.is_behind(copy(5), ["#"])
    assert not newest.is_behind(
        live(4), ["#", "+"]
    )  # [MQTT-3.8.4-3] for the one, whatever the other's copy was
    assert newest.is_behind(live(5), ["#"])
    assert not newest.is_behind(live(6, filter="+"), ["+", "#"])
    assert newest.is_behind(copy(5, b"again"), ["#"])  # it came by the other filter


def test_what_is_remembered_is_bounded() -> None:
    newest = Newest()
    for number in range(2 * newest_module._REMEMBERED):
        newest.is_behind(live(number, f"t/{number}"), ["#"])
    assert len(newest._sent) == newest_module._REMEMBERED
