"""Source marks: how a gateway drops what a router repeats (I4).

The router's sink is at-least-once and replays from its batch's start; records of one source partition reach a node in
order. So a record at or below the highest source offset taken for its (source partition, filter) is a repeat.
"""

from __future__ import annotations

_SPARE = (
    10_000  # marks of filters nobody here holds any more are kept up to this many: replays come soon or never
)


class SourceMarks:
    """The highest source offset taken, per filter and source partition."""

    def __init__(self) -> None:
        self._marks: dict[str, dict[int, int]] = {}
        self._forgotten: dict[str, None] = {}  # filters without a local subscriber, the oldest first

    def __len__(self) -> int:
        return len(self._marks)

    def take(self, partition: int, offset: int, filter: str) -> bool:
        """Whether the record is new; from then on it, and all before it, is not."""
        marks = self._marks.get(filter)
        if marks is None:
            self._marks[filter] = {partition: offset}
            return True
        if offset <= marks.get(partition, -1):
            return False
        marks[partition] = offset
        return True

    def hold(self, filter: str) -> None:
        """A local client holds this filter again: its marks stay."""
        self._forgotten.pop(filter, None)

    def forget(self, filter: str) -> None:
        """No local client holds this filter any more: its marks go when many such have gathered."""
        if filter in self._marks:
            self._forgotten[filter] = None
            if len(self._forgotten) > _SPARE:
                oldest = next(iter(self._forgotten))
                del self._forgotten[oldest], self._marks[oldest]
