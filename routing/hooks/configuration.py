"""The hooks' configuration: a TOML file, read and checked before the router starts (docs/hooks.md)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contracts.routed_record import MAX_RULES
from routing.errors import HooksError


@dataclass(frozen=True)
class Statement:
    """SQL, and where it stands, for error messages."""

    text: str
    place: str
    """Its file, or its entry in the configuration."""


@dataclass(frozen=True)
class Lookup:
    """A static table that transformations may join."""

    name: str
    """By which SQL names it."""
    format: str
    """Of a Spark data source: `parquet`, `csv`, `jdbc`…"""
    key: tuple[str, ...]
    """The columns that tell its rows apart."""
    path: str | None = None
    schema: str | None = None
    """As DDL, where the format has none of its own."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the data source."""


@dataclass(frozen=True)
class Transformation:
    """One step that all messages take: SQL or a function."""

    place: str
    """Its entry in the configuration."""
    sql: Statement | None = None
    function: str | None = None
    """`package.module:function`, DataFrame → DataFrame."""


@dataclass(frozen=True)
class Rule:
    """What makes one message more of a message."""

    name: str
    number: int
    """From 1 on; what it makes is told apart by it, so a rule keeps its number."""
    sql: Statement
    kafka_topic: str | None = None
    """Where its messages go instead of to subscribers."""


@dataclass(frozen=True)
class HooksConfiguration:
    """The whole file."""

    lookups: tuple[Lookup, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    rules: tuple[Rule, ...] = ()


def read_configuration(file: Path) -> HooksConfiguration:
    """Read a file; SQL files are looked for beside it.

    Raises:
        HooksError: It cannot be read, or something in it is wrong; says what to change.
    """
    try:
        content = tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError as error:
        raise HooksError(f"{file} is not TOML: {error}") from None
    _Entry(str(file), content).only("lookups", "transformations", "rules")
    lookups = content.get("lookups", {})
    if not isinstance(lookups, dict):
        raise HooksError(f"{file}: write lookups as tables [lookups.NAME]")
    found = HooksConfiguration(
        tuple(_lookup(_Entry(f"{file}: lookups.{name}", one), name) for name, one in lookups.items()),
        tuple(_transformation(one, file.parent) for one in _entries(file, content, "transformations")),
        tuple(_rule(one, file.parent) for one in _entries(file, content, "rules")),
    )
    for what in ("name", "number"):
        if (twice := _repeated(getattr(rule, what) for rule in found.rules)) is not None:
            raise HooksError(f"{file}: two rules have the {what} {twice}; give each its own")
    return found


class _Entry:
    """A table of the file, of which only known fields of a known type are taken."""

    def __init__(self, place: str, content: Any) -> None:
        if not isinstance(content, dict):
            raise HooksError(f"{place}: write a table of settings")
        self.place = place
        self._content = content

    def only(self, *known: str) -> None:
        if unknown := sorted(self._content.keys() - set(known)):
            raise HooksError(f"{self.place}: {unknown[0]} is not known; there are {', '.join(known)}")

    def text(self, name: str) -> str | None:
        value = self._content.get(name)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise HooksError(f"{self.place}: write {name} as a text that is not empty")
        return value

    def needed_text(self, name: str) -> str:
        if (value := self.text(name)) is None:
            raise HooksError(f"{self.place}: {name} is missing")
        return value

    def number(self, name: str, highest: int) -> int:
        value = self._content.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= highest:
            raise HooksError(f"{self.place}: write {name} as a number from 1 to {highest}")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._content.get(name)
        if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
            raise HooksError(f"{self.place}: write {name} as a list of texts")
        return tuple(value)

    def options(self, name: str) -> dict[str, str]:
        value = self._content.get(name, {})
        if not isinstance(value, dict):
            raise HooksError(f"{self.place}: write {name} as a table")
        return {key: str(one).lower() if isinstance(one, bool) else str(one) for key, one in value.items()}

    def statement(self, folder: Path) -> Statement | None:
        """What `sql` says, or the file that `file` names."""
        text, name = self.text("sql"), self.text("file")
        if text is not None and name is not None:
            raise HooksError(f"{self.place}: it has both sql and file; leave one of them out")
        if name is not None:
            return Statement(_text(folder / name), str(folder / name))
        return None if text is None else Statement(text, f"{self.place}.sql")


def _lookup(entry: _Entry, name: str) -> Lookup:
    entry.only("format", "path", "schema", "key", "options")
    if not name.isidentifier() or name.lower() == "messages":
        raise HooksError(f"{entry.place}: name it as SQL can, with letters, digits and _, and not messages")
    return Lookup(
        name,
        entry.needed_text("format"),
        entry.texts("key"),
        entry.text("path"),
        entry.text("schema"),
        entry.options("options"),
    )


def _transformation(entry: _Entry, folder: Path) -> Transformation:
    entry.only("sql", "file", "function")
    sql, function = entry.statement(folder), entry.text("function")
    if (sql is None) == (function is None):
        raise HooksError(f"{entry.place}: write one of sql, file and function")
    return Transformation(entry.place, sql, function)


def _rule(entry: _Entry, folder: Path) -> Rule:
    entry.only("name", "number", "sql", "file", "kafka_topic")
    name, number = entry.needed_text("name"), entry.number("number", MAX_RULES)
    if (sql := entry.statement(folder)) is None:
        raise HooksError(f"{entry.place}: write sql or file")
    return Rule(name, number, sql, entry.text("kafka_topic"))


def _entries(file: Path, content: dict[str, Any], name: str) -> list[_Entry]:
    found = content.get(name, [])
    if not isinstance(found, list):
        raise HooksError(f"{file}: write {name} as [[{name}]]")
    return [_Entry(f"{file}: {name}[{at}]", one) for at, one in enumerate(found)]


def _repeated(values: Iterable[object]) -> object | None:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HooksError(f"{file} cannot be read: {error}") from None
