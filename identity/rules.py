"""What one client may publish and subscribe to: its rules, filled in with its client id and user name.

Pure, and for the event loop: a check takes some microseconds, and what has been allowed is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from contracts.delayed_record import DELAYED_PREFIX, parse_delayed
from contracts.errors import TopicError
from contracts.topics import parse_exclusive, parse_share, validate_filter
from identity.answers import Rules
from identity.errors import InvalidError
from identity.patterns import check_pattern, fill, matches, placeholders_of
from identity.wildcards import allows

MAX_PATTERNS = 100
"""In one list."""
EVERYTHING = ".*"
"""What stands for a list of which nothing is said."""

_REMEMBERED = 16  # topics of any client, of which a gateway may have ten thousands
_REMEMBERED_AT_MOST = 1_024  # topics of one client, while there is room for more than the above
_ROOM_FOR_MORE = 65_536  # topics of all clients together, beyond the above: some 20 MiB
_REMEMBERED_LENGTH = 256  # characters


def check_rules(rules: Rules) -> None:
    """Check rules before they are stored, or used for the first time.

    Raises:
        InvalidError: A pattern cannot be, or there are too many.
    """
    for patterns in (rules.publish, rules.subscribe):
        if len(patterns or ()) > MAX_PATTERNS:
            raise InvalidError(
                f"a list has {len(patterns or ())} patterns, {MAX_PATTERNS} are allowed: join some"
            )
        for pattern in patterns or ():
            check_pattern(pattern)


def placeholders(rules: Rules) -> set[str]:
    """Which placeholders rules have, `${clientid}` and `${username}`."""
    patterns = (*(rules.publish or ()), *(rules.subscribe or ()))
    return {name for pattern in patterns for name in placeholders_of(pattern)}


class Permissions:
    """One client's rules."""

    _room: ClassVar[int] = _ROOM_FOR_MORE

    def __init__(self, rules: Rules, client_id: str, username: str | None) -> None:
        """Of a client with this id, as the broker knows it, and the user name of its CONNECT; rules are checked."""
        self._publish = _filled(rules.publish, client_id, username)
        self._subscribe = _filled(rules.subscribe, client_id, username)
        self.published: dict[str, str] = {}
        """Topic → its pattern, of what `publish` has allowed and remembers; who is in a hurry looks here first."""
        self._taken = 0  # of the room for more

    def __del__(self) -> None:
        Permissions._room += self._taken

    def publish(self, topic: str) -> str | None:
        """The pattern, as it was written, that allows publishing to a topic; None: it is denied.

        `$delayed/<seconds>/<topic>` is publishing to that topic.
        """
        if (known := self.published.get(topic)) is not None:
            return known
        allowed = self._allowing(topic)
        if allowed is not None and len(topic) <= _REMEMBERED_LENGTH and self._has_room():
            self.published[topic] = allowed
        return allowed

    def _has_room(self) -> bool:
        """Whether one more topic may be remembered; who has many takes from what there is for all."""
        remembered = len(self.published)
        if remembered < _REMEMBERED + self._taken:
            return True
        if remembered >= _REMEMBERED_AT_MOST or Permissions._room <= 0:
            return False
        Permissions._room -= 1
        self._taken += 1
        return True

    def _allowing(self, topic: str) -> str | None:
        plain = topic
        if topic.startswith(DELAYED_PREFIX):
            try:
                plain = parse_delayed(topic).topic
            except TopicError:
                return None
        return next((pattern for pattern, filled in self._publish if matches(filled, plain)), None)

    def subscribe(self, filter: str) -> str | None:
        """The pattern, as it was written, that allows a filter and all that it brings; None: it is denied.

        Of a shared or exclusive subscription the filter within counts. `identity.wildcards` says when a pattern allows
        a filter with wildcards.
        """
        try:
            plain = plain_filter(filter)
        except TopicError:
            return None
        return next((pattern for pattern, filled in self._subscribe if allows(filled, plain)), None)


def plain_filter(filter: str) -> str:
    """A filter without `$share/<group>/`, `$queue/` and `$exclusive/`, in whatever order.

    Raises:
        TopicError: It is no filter.
    """
    validate_filter(filter)
    while True:
        share, exclusive = parse_share(filter), parse_exclusive(filter)
        if share is None and exclusive is None:
            return filter
        filter = share.filter if share is not None else exclusive or ""
        validate_filter(filter)


def _filled(patterns: Sequence[str] | None, client_id: str, username: str | None) -> list[tuple[str, str]]:
    """Each pattern as written, and filled in; without those that cannot be for this client."""
    written = (EVERYTHING,) if patterns is None else patterns
    filled = ((pattern, fill(pattern, client_id, username)) for pattern in written)
    return [(pattern, ready) for pattern, ready in filled if ready is not None]
