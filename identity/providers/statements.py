"""What a token or a service states of a client: its type, its rules, and until when that holds.

Whoever states it is trusted, but may be mistaken: everything is checked before it is believed. The errors say what is
wrong in words that follow "the token:" or "of its answer,".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from identity.answers import ClientType, Rules
from identity.errors import InvalidError
from identity.rules import check_rules

LATEST = 253_402_300_799.0
"""The end of the year 9999 in seconds since 1970: as good as never, and any clock can tell it."""


def stated_client_type(said: Mapping[str, Any], name: str) -> ClientType:
    """The client type under a name; DEVICE where there is none. InvalidError where it is something else."""
    value = said.get(name, ClientType.DEVICE)
    if value not in list(ClientType):
        raise InvalidError(f"{name!r} is neither DEVICE nor APPLICATION")
    return ClientType(value)


def stated_rules(said: Mapping[str, Any], publish: str, subscribe: str, default: Rules) -> Rules:
    """The lists of patterns under two names; those of `default` where there are none.

    Raises:
        InvalidError: What stands there is no list of patterns.
    """
    rules = Rules(
        _patterns(said, publish, default.publish),
        _patterns(said, subscribe, default.subscribe),
    )
    check_rules(rules)
    return rules


def _patterns(said: Mapping[str, Any], name: str, default: tuple[str, ...] | None) -> tuple[str, ...] | None:
    value = said.get(name)
    if value is None:
        return default
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidError(f"{name!r} is no list of patterns")
    return tuple(value)


def stated_end(said: Mapping[str, Any], name: str) -> float | None:
    """The time under a name, in seconds since 1970 and not later than `LATEST`; None where there is none.

    Raises:
        InvalidError: What stands there is no time.
    """
    value = said.get(name)
    if value is None:
        return None
    # Compared, not converted: JSON has integers that no float can hold, and Python reads NaN.
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise InvalidError(f"{name!r} is no number of seconds since 1970")
    return float(value) if value < LATEST else LATEST
