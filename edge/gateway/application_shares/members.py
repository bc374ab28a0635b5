"""Who of a group is connected here: the event loop writes it, the dispatcher's thread reads it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """One connected APPLICATION."""

    client_id: str
    qos: int
    """The QoS granted."""
    node: str
    """The gateway that it is connected to, which is this one."""


class Members:
    """The members of one group, and whether any of them may just be chosen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: dict[str, Member] = {}
        self._is_round = False
        self._settled: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        return bool(self._members)

    def put(self, member: Member) -> None:
        """One has come, or has subscribed once more."""
        with self._lock:
            self._members[member.client_id] = member

    def remove(self, client_id: str, settled: Callable[[], None]) -> None:
        """One has gone, and is chosen no more.

        Args:
            client_id: Who.
            settled: Called when all that was chosen for it before is in Kafka, or never will be; perhaps in the
                dispatcher's thread.
        """
        with self._lock:
            self._members.pop(client_id, None)
            if self._is_round:
                self._settled.append(settled)
                return
        settled()

    @contextmanager
    def round(self) -> Iterator[tuple[Member, ...]]:
        """Who may be chosen within the block, which ends when that is in Kafka."""
        with self._lock:
            self._is_round = True
            members = tuple(self._members.values())
        try:
            yield members
        finally:
            with self._lock:
                self._is_round = False
                waiting, self._settled = self._settled, []
            for settled in waiting:
                settled()
