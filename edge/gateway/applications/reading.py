"""How far one application is in its Kafka topic: what came, what of it is done with, and where the next begins. Pure.

Offsets are in one of these states:

    below the floor      done with, all of them
    floor … position     taken: under way, done with, or nobody's (repeats, markers, what transactions leave)
    from position on     not read yet; of some it is known already that they are done with, or were received

The floor follows the first that is under way. The state of repeats is kept twice: as of the position, to judge what
comes, and as of the floor, for whoever reads again from there. So it is the same message that counts as the first one,
however often a stretch is read.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto

from contracts.application_progress import Progress, offsets_of, ranges_of
from contracts.persisted_log import Repeats
from contracts.routed_record import Route

_NOBODY = ""  # a topic has one reader, so repeats need not be told apart by client


class Verdict(Enum):
    """What to do with a record."""

    NEW = auto()
    """Send it."""
    RECEIVED = auto()
    """Its PUBREC has come: send PUBREL, which needs no more than its offset."""
    NOTHING = auto()
    """It is done with, or a repeat."""


class Reading:
    """One application's place; made anew for each of its connections."""

    def __init__(self, progress: Progress) -> None:
        self.position = progress.floor
        """Everything before this offset has been taken."""
        self.repeated = 0
        """How many repeats there were."""
        self._ahead = Repeats.from_json(progress.marks)
        self._behind = Repeats.from_json(progress.marks)
        self._marks: str | None = progress.marks
        self._received = set(progress.received)
        self._done = set(offsets_of(progress.acked))
        self._window: deque[tuple[int, Route]] = deque()
        """What was taken and is no repeat, from the floor on."""

    @property
    def floor(self) -> int:
        """Everything before this offset is done with."""
        return self._window[0][0] if self._window else self.position

    @property
    def received_offsets(self) -> list[int]:
        """What waits for PUBCOMP, ascending."""
        return sorted(self._received)

    def take(self, offset: int, route: Route) -> Verdict:
        """The next message; one before `position` was taken before."""
        if offset < self.position:
            return Verdict.NOTHING
        self.position = offset + 1
        if self._ahead.is_repeat(route.partition, route.offset, _NOBODY, route.filter):
            self.repeated += 1
            return Verdict.NOTHING
        self._window.append((offset, route))
        if offset in self._done:
            self._advance()
            return Verdict.NOTHING
        return Verdict.RECEIVED if offset in self._received else Verdict.NEW

    def skip(self, offset: int) -> None:
        """The next record, which is no message."""
        self.position = max(self.position, offset + 1)

    def received(self, offset: int) -> None:
        """PUBREC came."""
        self._received.add(offset)

    def done(self, offset: int) -> None:
        """PUBACK or PUBCOMP came, or it is not to be sent. It may not have been read again yet."""
        self._received.discard(offset)
        self._done.add(offset)
        self._advance()

    def progress(self) -> Progress:
        """What whoever goes on needs to know."""
        if self._marks is None:
            self._marks = self._behind.to_json()
        floor = self.floor
        if self._done and min(self._done) < floor:  # what retention took was never read again
            self._done = {offset for offset in self._done if offset >= floor}
        return Progress(floor, self._marks, ranges_of(sorted(self._done)), tuple(self.received_offsets))

    def _advance(self) -> None:
        window = self._window
        while window and window[0][0] in self._done:
            offset, route = window.popleft()
            self._done.discard(offset)
            self._behind.is_repeat(route.partition, route.offset, _NOBODY, route.filter)
            self._marks = None
