"""Topic grammar: validate, split, shapes, and `matches`, the oracle that every matcher is tested against.

Matching in SluiceMQ is a join, not a trie. A filter's *shape* says where its wildcards stand; for each shape in use a
topic has exactly one filter of that shape that matches it, its *candidate key*. So the filters that match a topic are
those table rows whose filter is the topic itself or one of its candidate keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from contracts.errors import TopicError

MAX_TOPIC_BYTES = 65_535  # a UTF-8 encoded string has a two-byte length [MQTT-4.7.3-3]
SHARE_PREFIX = "$share/"
QUEUE_PREFIX = "$queue/"
"""`$queue/<filter>` is `$share/$queue/<filter>`: the one share group whose members need not name it."""
EXCLUSIVE_PREFIX = "$exclusive/"


class ShareFilter(NamedTuple):
    """A shared subscription's parts: `$share/<group>/<filter>`."""

    group: str
    filter: str


def canonical_filter(filter: str) -> str:
    """The one way in which a filter is written everywhere behind the packet: `$queue/f` as `$share/$queue/f`.

    So whoever subscribes to either is in the same group, and no other part knows that there are two ways.
    """
    return SHARE_PREFIX + filter if filter.startswith(QUEUE_PREFIX) else filter


def validate_topic(topic: str) -> None:
    """Check a topic name as a publisher may use it.

    Raises:
        TopicError: It is empty, holds a wildcard or U+0000, or is longer than 65,535 bytes of UTF-8.
    """
    if "+" in topic or "#" in topic:
        raise TopicError(f"topic {_shown(topic)} holds a wildcard: publish without + and #")  # [MQTT-3.3.2-2]
    _validate_name(topic, "topic")


def validate_filter(filter: str) -> None:
    """Check a topic filter as a subscriber may use it, `$share/<group>/<filter>` and `$queue/<filter>` included.

    Raises:
        TopicError: It is empty, too long, holds U+0000, or a wildcard does not fill its level (`#` only as the last).
    """
    _validate_name(canonical_filter(filter), "filter")
    share = parse_share(filter)
    if share is not None:
        filter = share.filter
    if "#" in filter and (filter.index("#") != len(filter) - 1 or filter[-2:-1] not in ("", "/")):
        raise TopicError(f"filter {_shown(filter)}: # must be the last level, alone")  # [MQTT-4.7.1-1]
    if "+" in filter and any("+" in level and level != "+" for level in filter.split("/")):
        raise TopicError(f"filter {_shown(filter)}: + must fill a whole level")  # [MQTT-4.7.1-2]


def parse_share(filter: str) -> ShareFilter | None:
    """Take `$share/<group>/<filter>` apart, or `$queue/<filter>`; None for a filter that is not shared.

    Raises:
        TopicError: The group is empty or holds a wildcard, or no filter follows it.
    """
    canonical = canonical_filter(filter)
    if not canonical.startswith(SHARE_PREFIX):
        return None
    group, slash, rest = canonical[len(SHARE_PREFIX) :].partition("/")
    if not group or not slash or not rest or "+" in group or "#" in group:
        # [MQTT-4.8.2-1], [MQTT-4.8.2-2]
        raise TopicError(
            f"filter {_shown(filter)}: write $share/<group>/<filter> (the group without wildcards) or "
            "$queue/<filter>"
        )
    return ShareFilter(group, rest)


def is_exclusive(filter: str) -> bool:
    """Whether a filter as written is exclusive."""
    return filter.startswith(EXCLUSIVE_PREFIX)


def parse_exclusive(filter: str) -> str | None:
    """The filter, possibly empty, behind `$exclusive/`; None for one that is not exclusive."""
    return filter.removeprefix(EXCLUSIVE_PREFIX) if is_exclusive(filter) else None


def stays_within_level(name: str) -> bool:
    """Whether a client id or user name may stand for a placeholder: it is one level of a topic, and only that.

    With `/` it would reach into what another client's rule covers, with `+` and `#` it would be a wildcard in a filter,
    and names that begin with `$` are the broker's.
    """
    return bool(name) and not name.startswith("$") and not any(sign in name for sign in "/+#\0")


def matches(filter: str, topic: str) -> bool:
    """Tell whether a filter (without share prefix) matches a topic. Plain and slow: the oracle for all others."""
    wanted, given = filter.split("/"), topic.split("/")
    if topic.startswith("$") and wanted[0] in ("+", "#"):
        return False  # [MQTT-4.7.2-1]
    for position, level in enumerate(wanted):
        if level == "#":
            return True  # also the parent level itself: "a/#" matches "a"
        if position == len(given) or level not in ("+", given[position]):
            return False
    return len(wanted) == len(given)


@dataclass(frozen=True)
class Shape:
    """Where a filter has its wildcards; shared by all filters that differ only in their literal levels."""

    depth: int
    """Number of levels, a closing `#` not counted."""
    plus: tuple[int, ...]
    """Positions of the levels that are `+`, ascending, from 0."""
    tail: bool
    """Whether a closing `#` follows."""

    @cached_property
    def leading_wildcard(self) -> bool:
        """Whether the first level is a wildcard, which never matches a `$`-topic [MQTT-4.7.2-1]."""
        return self.depth == 0 or self.plus[:1] == (0,)

    @property
    def text(self) -> str:
        """The shape as `<depth>:<plus positions, comma separated>:<# or nothing>`, for instance `3:1:#`."""
        return f"{self.depth}:{','.join(map(str, self.plus))}:{'#' if self.tail else ''}"

    @classmethod
    def parse(cls, text: str) -> Shape:
        """Read what `text` wrote.

        Raises:
            TopicError: It is not of that form.
        """
        try:
            depth, plus, tail = text.split(":")
            return cls(
                int(depth), tuple(map(int, filter(None, plus.split(",")))), {"#": True, "": False}[tail]
            )
        except (ValueError, KeyError):
            raise TopicError(
                f"{text!r} is not a shape: write <depth>:<positions of +>:<# or nothing>"
            ) from None

    def candidate(self, levels: list[str]) -> str | None:
        """The one filter of this shape that matches the topic with these levels; None where none can."""
        if len(levels) < self.depth or (len(levels) > self.depth and not self.tail):
            return None
        key = levels[: self.depth]
        for position in self.plus:
            key[position] = "+"
        if self.tail:
            key.append("#")
        return "/".join(key)


def shape_of(filter: str) -> Shape | None:
    """The shape of a valid filter (without share prefix); None where it has no wildcard."""
    if "+" not in filter and "#" not in filter:
        return None
    levels = filter.split("/")
    tail = levels[-1] == "#"
    if tail:
        levels.pop()
    return Shape(len(levels), tuple(i for i, level in enumerate(levels) if level == "+"), tail)


def candidate_keys(topic: str, shapes: Iterable[Shape]) -> Iterator[str]:
    """All filters of the given shapes that match a topic, the topic itself first; each once if the shapes differ."""
    yield topic
    levels = topic.split("/")
    dollar = topic.startswith("$")
    for shape in shapes:
        if not (dollar and shape.leading_wildcard):
            key = shape.candidate(levels)
            if key is not None:
                yield key


def _validate_name(name: str, what: str) -> None:
    if not name:
        raise TopicError(f"the {what} is empty: give it at least one character")  # [MQTT-4.7.3-1]
    if "\0" in name:
        raise TopicError(f"{what} {_shown(name)} holds U+0000, which MQTT forbids")  # [MQTT-4.7.3-2]
    # Only a name near the limit needs encoding: a character has at most four bytes.
    if len(name) * 4 > MAX_TOPIC_BYTES and len(name.encode("utf-8", "surrogatepass")) > MAX_TOPIC_BYTES:
        raise TopicError(f"the {what} is longer than {MAX_TOPIC_BYTES} bytes of UTF-8: shorten it")


def _shown(name: str) -> str:
    return repr(name if len(name) <= 80 else name[:77] + "...")
