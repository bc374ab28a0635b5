"""Moments: places in a log as people say them, resolved to an offset for each partition.

earliest, latest            the ends of what Kafka has
2026-11-29T10:00:00Z        a time, always with its zone; 1764410400000 is the same, in ms since 1970
{"0": 120, "1": 95}         the first offset behind it, for each partition
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from contracts.message_table import HIGHEST_AT_MS
from routing.errors import MomentError
from routing.routes.kafka import RouteLog

EARLIEST, LATEST = "earliest", "latest"
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Moment:
    """One place in a log; exactly one field is set."""

    end: str | None = None
    """`EARLIEST` or `LATEST`."""
    at_ms: int | None = None
    """The first record of this time or later, ms since 1970."""
    offsets: tuple[tuple[int, int], ...] | None = None
    """(partition, offset) of each partition."""

    @classmethod
    def parse(cls, text: str) -> Moment:
        """Read a moment.

        Raises:
            MomentError: It is none.
        """
        text = text.strip()
        if text in (EARLIEST, LATEST):
            return cls(end=text)
        if text.startswith("{"):
            return cls(offsets=_parse_offsets(text))
        if text.isascii() and text.isdecimal():
            return cls(at_ms=int(text))
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise _no_moment(text) from None
        if at.tzinfo is None:
            raise MomentError(f"{text!r} has no time zone: write Z or an offset such as +01:00 behind it")
        return cls(at_ms=round(at.timestamp() * 1000))

    def resolve(self, log: RouteLog) -> dict[int, int]:
        """The offset of each partition; what Kafka has no more begins where Kafka begins.

        Raises:
            MomentError: Partitions are missing, or an offset is behind the log's end.
            RouteTableError: Kafka does not answer.
        """
        numbers = range(log.partitions())
        if self.offsets is None:
            return {number: self._resolve_one(log, number) for number in numbers}
        offsets = dict(self.offsets)
        if set(offsets) != set(numbers):
            raise MomentError(
                f"{log.topic} has the partitions 0 to {len(numbers) - 1}: give an offset for each of them"
            )
        for number in numbers:
            low, end = log.bounds(number)
            if offsets[number] > end:
                raise MomentError(
                    f"partition {number} of {log.topic} ends at {end}, before {offsets[number]}"
                )
            offsets[number] = max(low, offsets[number])
        return offsets

    def _resolve_one(self, log: RouteLog, partition: int) -> int:
        if self.at_ms is not None:
            return log.offset_at(partition, self.at_ms)
        return log.bounds(partition)[self.end == LATEST]


def encode_offsets(offsets: dict[int, int]) -> str:
    """Offsets as a moment is written."""
    return json.dumps({str(partition): offset for partition, offset in offsets.items()})


def record_time(at_ms: int | None) -> datetime | None:
    """A time in ms since 1970 as a table shows it; None where there is none, or none that a calendar has."""
    if at_ms is None or not 0 <= at_ms <= HIGHEST_AT_MS:
        return None
    return _BEGINNING + timedelta(milliseconds=at_ms)


def _parse_offsets(text: str) -> tuple[tuple[int, int], ...]:
    try:
        found = sorted((int(partition), int(offset)) for partition, offset in json.loads(text).items())
    except (ValueError, TypeError, AttributeError):
        raise _no_moment(text) from None
    if not found or any(partition < 0 or offset < 0 for partition, offset in found):
        raise _no_moment(text)
    return tuple(found)


def _no_moment(text: str) -> MomentError:
    return MomentError(
        f"{text!r} is no moment: write earliest, latest, a time such as 2026-11-29T10:00:00Z, or an offset for each "
        'partition such as {"0": 120, "1": 95}'
    )
