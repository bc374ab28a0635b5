"""Which messages of a topic are behind what one connection of a lasting session has been sent already (I9).

Copies of retained messages stand in the session's log in the order of the appends, and live messages of the same topic
may stand behind a newer copy, or before an older one. Pure, and bounded: the latest topics are remembered.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from contracts.persisted_record import Message
from contracts.retained_record import decode_copy, is_copy

_REMEMBERED = 1_000  # topics; what is routed together with a copy comes within as many messages


@dataclass(slots=True)
class _Sent:
    partition: int
    live: int = -1
    """The newest live message's place in `tbmq.msg.all`."""
    floor: int = -1
    """The place of the copy for a new subscription: what is not behind it is not for that."""


class Newest:
    """By filter and topic, what was sent last."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, str], _Sent] = {}

    def is_behind(self, message: Message, filters: Collection[str]) -> bool:
        """Whether a message is not to be sent any more; if it is, it is taken for sent.

        Args:
            message: A live one, or a copy of a retained one.
            filters: Of the client, by which it gets it: behind is what is behind for all of them.
        """
        if is_copy(message.source_partition):
            return self._is_copy_behind((message.filter, message.topic), message)
        sent = [self._by((filter, message.topic), message.source_partition) for filter in filters]
        if all(message.source_offset <= one.floor for one in sent):
            return True
        for one in sent:
            one.live = max(one.live, message.source_offset)
        return False

    def _by(self, key: tuple[str, str], partition: int) -> _Sent:
        sent = self._sent.get(key)
        if sent is None or sent.partition != partition:
            sent = _Sent(partition)
            self._remember(key, sent)
        return sent

    def _is_copy_behind(self, key: tuple[str, str], message: Message) -> bool:
        copy = decode_copy(message.source_partition, message.source_offset, message.headers)
        sent = self._sent.get(key)
        if sent is None or sent.partition != copy.partition:
            sent = _Sent(copy.partition)
        if sent.live > copy.offset or (copy.is_new and sent.live == copy.offset) or sent.floor > copy.offset:
            return True
        if copy.is_new:
            sent.floor = copy.offset
        self._remember(key, sent)
        return False

    def _remember(self, key: tuple[str, str], sent: _Sent) -> None:
        self._sent.pop(key, None)  # so that the oldest stands first
        self._sent[key] = sent
        if len(self._sent) > _REMEMBERED:
            del self._sent[next(iter(self._sent))]
