"""Dataclasses as JSON objects and back, each field checked against its type.

Types that a field may have: str, int, float, bool, None, other such dataclasses, `tuple[X, ...]`, `Mapping[str, X]`,
and unions of them. Fields that are left out have their default; those that are not known are passed over, so newer
writers may say more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from contracts import json_text
from contracts.errors import RecordError

T = TypeVar("T")

_HIGHEST = (1 << 63) - 1


def dump(record: Any) -> bytes:
    """A dataclass as JSON, all its fields."""
    return json.dumps(plain(record), ensure_ascii=False, separators=(",", ":")).encode()


def plain(value: Any) -> Any:
    """A value of such a type as JSON has it."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value


def load(kind: type[T], value: bytes | None, what: str) -> T:
    """Read a dataclass.

    Args:
        kind: Its class.
        value: The JSON.
        what: What it is called, for the error.

    Raises:
        RecordError: It is not of that form.
    """
    try:
        return cast(T, _read(kind, json_text.load(value or b"")))
    except (ValueError, TypeError, RecursionError) as error:
        reason = f": {error}" if isinstance(error, _FieldError) else ""
        raise RecordError(f"{what} is not a JSON object of the documented form{reason}") from None


class _FieldError(ValueError):
    """A field is missing, or not of its type."""


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _read_any(get_args(kind), value)
    if origin is tuple and type(value) is list:
        return tuple(_read(get_args(kind)[0], item) for item in value)
    if origin is not None and type(value) is dict:
        return {key: _read(get_args(kind)[1], item) for key, item in value.items()}
    if is_dataclass(kind) and type(value) is dict:
        return _read_fields(cast(type[Any], kind), value)
    return _read_scalar(kind, value)


def _read_scalar(kind: Any, value: Any) -> Any:
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if type(value) is kind and kind in (str, bool, NoneType):
        return value
    if kind is int and type(value) is int and abs(value) <= _HIGHEST:
        return value
    raise _FieldError(f"a {type(value).__name__} stands where something else must")


def _read_any(kinds: tuple[Any, ...], value: Any) -> Any:
    for kind in kinds:
        if (kind is NoneType) == (value is None):
            return _read(kind, value)
    raise _FieldError("null stands where it cannot")


def _read_fields(kind: type[Any], given: dict[str, Any]) -> Any:
    hints, found = _hints(cast(Any, kind)), dict[str, Any]()
    for field in fields(kind):
        if field.name in given:
            try:
                found[field.name] = _read(hints[field.name], given[field.name])
            except (_FieldError, OverflowError):
                raise _FieldError(f"{field.name} is not of its type") from None
        elif field.default is MISSING and field.default_factory is MISSING:
            raise _FieldError(f"{field.name} is missing")
    return kind(**found)
