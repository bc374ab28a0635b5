"""Which messages of a topic are behind what one connection of a lasting session has been sent already (I9).

Copies of retained messages stand in the session's log in the order of the appends, and live messages of the same topic
may stand behind a newer copy, or before an older one. Pure, and bounded: the latest topics are remembered.
"""

from __future__ import annotations

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

    def is_behind(self, message: Message) -> bool:
        """Whether a message is not to be sent any more; if it is, it is taken for sent."""
        key = message.filter, message.topic
        if is_copy(message.source_partition):
            return self._is_copy_behind(key, message)
        sent = self._sent.get(key)
        if sent is not None and sent.partition == message.source_partition:
            if message.source_offset <= sent.floor:
                return True
            sent.live = max(sent.live, message.source_offset)
            return False
        self._remember(key, _Sent(message.source_partition, live=message.source_offset))
        return False

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
