"""Source marks: how a gateway drops what a router repeats (I4).

The router's sink is at-least-once and replays from where its generation began; records of one source partition reach a
node in order. So a record at or below the highest source offset taken for its (source partition, filter) is a repeat.

A filter that nobody here held gets, as its first marks, the highest offsets seen at all: what is published after its
subscription stands behind them, and a replay brings the new subscriber nothing older.

What the router's rules make has source partitions of its own (contracts.routed_record). It comes right behind the
message that it was made of, so until a first one has come for a filter, the message's partition tells what is older.
"""

from __future__ import annotations

from contracts.routed_record import is_of_rule, partition_at_source


class SourceMarks:
    """The highest source offset taken, per held filter and source partition."""

    def __init__(self) -> None:
        self._marks: dict[str, dict[int, int]] = {}
        self._seen: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._marks)

    def see(self, partition: int, offset: int) -> None:
        """A record of this source position came, whatever its filter."""
        if is_of_rule(partition):
            return
        if offset > self._seen.get(partition, -1):
            self._seen[partition] = offset

    def seen(self, partition: int) -> int:
        """The highest source offset that has come; -1 if none has."""
        return self._seen.get(partition, -1)

    def floors(self) -> tuple[int, ...]:
        """The highest source offset that has come, for each source partition from 0 on; -1 where none has."""
        return tuple(map(self.seen, range(max(self._seen, default=-1) + 1)))

    def take(self, partition: int, offset: int, filter: str) -> bool:
        """Whether a record for a held filter is new; from then on it, and all before it, is not."""
        marks = self._marks[filter]
        mark = marks.get(partition, -1)
        if mark < 0 and is_of_rule(partition):
            mark = marks.get(partition_at_source(partition), 0) - 1
        if offset <= mark:
            return False
        marks[partition] = offset
        return True

    def hold(self, filter: str) -> None:
        """The first local client holds this filter."""
        self._marks[filter] = self._seen.copy()

    def forget(self, filter: str) -> None:
        """No local client holds this filter any more."""
        del self._marks[filter]
