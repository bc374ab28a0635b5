"""Rules in CSV, a pattern a row: `Credentials` (their name), `Action` (publish, subscribe), `Pattern`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum
from functools import partial

from identity.answers import Rules
from identity.csv_rows import read_rows
from identity.errors import InvalidError
from identity.patterns import check_pattern

_COLUMNS = ("credentials", "action", "pattern")


class Action(StrEnum):
    """What a client may do; the names of `Rules`' lists."""

    PUBLISH = "publish"
    SUBSCRIBE = "subscribe"


def patterns_of(rules: Rules, action: Action) -> tuple[str, ...] | None:
    """One of the two lists."""
    return rules.publish if action is Action.PUBLISH else rules.subscribe


def with_patterns(rules: Rules, action: Action, patterns: tuple[str, ...] | None) -> Rules:
    """The same rules with another list."""
    return replace(rules, **{action.value: patterns})


def with_pattern(rules: Rules, action: Action, pattern: str) -> Rules:
    """The same rules with one more pattern; where nothing was said, which allowed everything, only it is allowed."""
    patterns = patterns_of(rules, action) or ()
    return rules if pattern in patterns else with_patterns(rules, action, (*patterns, pattern))


def read_rules(lines: Iterable[str]) -> dict[str, Callable[[Rules], Rules]]:
    """Read patterns; returns for each name of credentials how its rules change, for `change_rules`.

    Args:
        lines: Of the file, with their ends.

    Raises:
        InvalidError: Something cannot be; the message says in which line.
    """
    added: dict[str, list[tuple[Action, str]]] = {}
    for number, row in read_rows(lines, _COLUMNS, "credentials"):
        try:
            action = Action(row.get("action", "").strip().lower())
            check_pattern(row.get("pattern", ""))
        except InvalidError as error:
            raise InvalidError(f"line {number}: {error}") from None
        except ValueError:
            raise InvalidError(f"line {number}: action: write one of {', '.join(Action)}") from None
        added.setdefault(row["credentials"], []).append((action, row["pattern"]))
    return {name: partial(_with_all, patterns) for name, patterns in added.items()}


def _with_all(patterns: list[tuple[Action, str]], rules: Rules) -> Rules:
    for action, pattern in patterns:
        rules = with_pattern(rules, action, pattern)
    return rules
