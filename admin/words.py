"""Figures and times in words, as people say them. Pure: what time it is, the caller knows."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def duration(seconds: float) -> str:
    """A length of time by its largest unit, and the next where it tells something: "1 hour 5 minutes"."""
    left = int(seconds)
    parts: list[str] = []
    for index, (unit, length) in enumerate(_UNITS):
        count, left = divmod(left, length)
        if count:
            parts.append(counted(count, unit))
            if count < 10 and index + 1 < len(_UNITS):
                after, following = _UNITS[index + 1]
                more = left // following
                if more and unit != "minute":
                    parts.append(counted(more, after))
            break
    return " ".join(parts) or "less than a second"


def ago(at_ms: int | None, now_ms: int) -> str:
    """How long ago something was, or how far it is."""
    if at_ms is None:
        return "never"
    apart = (now_ms - at_ms) / 1000
    if abs(apart) < 1:
        return "now"
    return f"{duration(apart)} ago" if apart > 0 else f"in {duration(-apart)}"


def moment(at_ms: int | None) -> str:
    """A date and a time, in UTC, so that it reads the same on every screen."""
    if at_ms is None:
        return ""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """So many of something: "1 message", "3 messages"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def size(octets: int) -> str:
    """A size in bytes, shortened."""
    value = float(octets)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:,.0f} {unit}" if unit == "B" or value >= 100 else f"{value:,.1f} {unit}"
        value /= 1024
    raise AssertionError


def rate(per_second: float) -> str:
    """A rate, with as many digits as tell something."""
    return f"{per_second:,.0f}" if per_second >= 100 or per_second == 0 else f"{per_second:,.1f}"


def listed(names: list[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
