"""Filters that nobody may subscribe to, by name, until clients have permissions of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contracts.topics import EXCLUSIVE_PREFIX, parse_share, validate_filter
from edge.mqtt.reason_codes import ReasonCode


class DeniedFilters:
    """A set of filters, each of which is refused alone, in a share group, and as an exclusive one.

    They are compared character by character: a wildcard in one stands for itself, and another filter that matches the
    same topics is not refused.

    Args:
        text: The filters, with commas between them.
        reason: The reason code for SUBACK; MQTT 3.x has but one.

    Raises:
        TopicError: One of them is no filter.
    """

    def __init__(self, text: str, reason: int = ReasonCode.NOT_AUTHORIZED) -> None:
        self._reason = reason
        self._filters = frozenset(filter for part in text.split(",") if (filter := part.strip()))
        for filter in self._filters:
            validate_filter(filter)

    def among(self, filters: Iterable[str]) -> Mapping[str, int]:
        """Those that are refused, with the reason code for SUBACK."""
        if not self._filters:
            return {}
        return {filter: self._reason for filter in filters if self._is_denied(filter)}

    def _is_denied(self, filter: str) -> bool:
        if filter in self._filters:
            return True
        share = parse_share(filter)
        inner = filter.removeprefix(EXCLUSIVE_PREFIX) if share is None else share.filter
        return inner in self._filters
