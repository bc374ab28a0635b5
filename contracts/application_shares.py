"""Shared subscriptions of persistent APPLICATIONs: the names, ids and states that they need (docs/adr/0014).

What an APPLICATION subscribes as `$share/<group>/<filter>` is read from an *entity*: a Kafka topic of several
partitions, made beforehand, one for each filter. Its *target* is what stands for the filter in its name. Each group is
a consumer group on it; the gateways where the group has members are the consumers.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

from contracts.errors import RecordError
from contracts.routed_record import is_of_rule

TARGET_PATTERN = r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*"
"""What a target must match as a whole; plain enough to mean the same to Java's regular expressions."""
MAX_TARGET = 100
"""Characters of a target: with a prefix of 100 and the name between them, below Kafka's 249."""
SOURCES = 1 << 56
"""Source partitions from here on are those of these dispatchers; none is as large as twice this."""

# No `_`: Kafka takes `a.b` and `a_b` for the same name, so the filters a/b and a_b could not both have an entity.
_LEVEL = re.compile(r"[A-Za-z0-9-]+")
_TARGET = re.compile(TARGET_PATTERN)
_GROUP = re.compile(r"[A-Za-z0-9_-]{1,100}")
_HASHED = re.compile(r"id-[0-9a-f]{32}")
_WORDS = {"+": "slw", "#": "mlw"}  # TBMQ's, for single-level and multi-level wildcard
_WILDCARDS = {word: wildcard for wildcard, word in _WORDS.items()}


def share_target(filter: str) -> str:
    """What stands for a filter (without share prefix) in the name of its entity.

    Its levels, joined by `.`, `slw` for `+` and `mlw` for `#`; where that would not be possible, or not tell what the
    filter is, `id-` and a hash of it. No two filters have the same.
    """
    levels = filter.split("/")
    target = ".".join(_WORDS.get(level, level) for level in levels)
    is_plain = all(
        level in _WORDS or (_LEVEL.fullmatch(level) and level not in _WILDCARDS) for level in levels
    )
    if is_plain and len(target) <= MAX_TARGET and not _HASHED.fullmatch(target):
        return target
    return f"id-{_hash(filter)[:32]}"


def filter_of(target: str) -> str | None:
    """Undo `share_target`; None for a hash, which does not tell, or what is no target."""
    if not _TARGET.fullmatch(target) or _HASHED.fullmatch(target):
        return None
    return "/".join(_WILDCARDS.get(level, level) for level in target.split("."))


def consumer_group(prefix: str, group: str, target: str) -> str:
    """The consumer group of a share group on an entity.

    Neither the prefix nor the group's part holds a `.`, so no two have the same.
    """
    safe = group if _GROUP.fullmatch(group) and not _HASHED.fullmatch(group) else f"id-{_hash(group)[:32]}"
    return f"{prefix}.share.{safe}.{target}"


def source_of(topic_id: str, group: str, partition: int) -> int:
    """The source partition of what is dispatched to a group from a partition of an entity; its offset is the entity's.

    An entity that is removed and made anew begins at offset 0 again, under another topic id: so its source partitions
    are others too, and nobody takes what stands there for a repeat.
    """
    return SOURCES + int(_hash(f"{topic_id}/{partition}/{group}")[:14], 16)


def is_of_application_share(source_partition: int) -> bool:
    """Whether an `id` was given by a dispatcher of an entity."""
    return source_partition >= SOURCES and not is_of_rule(source_partition)


@dataclass
class EntityMarks:
    """How far one partition of an entity is dispatched to a group, beside the offset: by this, repeats are told.

    As contracts.persisted_log.Repeats has it; for one filter and nobody in particular that is no more than the highest
    source offset of each source partition. As text it is kept with the consumer group's offset, where Kafka has room
    for 4,096 bytes: some two hundred source partitions.
    """

    highest: dict[int, int] = field(default_factory=dict)
    """Source partition → source offset."""

    def is_repeat(self, source_partition: int, source_offset: int) -> bool:
        """Tell whether a message was here before, and remember it."""
        if source_offset <= self.highest.get(source_partition, -1):
            return True
        self.highest[source_partition] = source_offset
        return False

    def copy(self) -> EntityMarks:
        """The same, apart from this."""
        return EntityMarks(dict(self.highest))

    def to_text(self) -> str:
        """`<source partition>:<offset>,…`, ascending."""
        return ",".join(f"{source}:{offset}" for source, offset in sorted(self.highest.items()))

    @classmethod
    def from_text(cls, text: str) -> EntityMarks:
        """Read what `to_text` wrote.

        Raises:
            RecordError: It is not of that form.
        """
        try:
            pairs = [mark.split(":") for mark in text.split(",") if mark]
            return cls({int(source): int(offset) for source, offset in pairs})
        except ValueError:
            raise RecordError(f"{text[:80]!r} are no marks: expected <source partition>:<offset>,…") from None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
