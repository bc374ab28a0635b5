"""Values that settings of authentication are made of: secrets from files, URLs, JSON, lists.

The errors say what to write instead. None shows what was written, which may be a secret in the wrong place.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from identity.answers import Rules
from identity.rules import check_rules


class ProviderSettings(BaseSettings):
    """Settings from the environment whose errors never show a value."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        # What is said of a setting here, whoever edits it elsewhere is told, too.
        use_attribute_docstrings=True,
    )


def _split(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""A list with commas."""


def _decode(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("this is no JSON") from None


# NoDecode: what is no JSON is to end in an error of the same kind as all others, and without the text.
Texts = Annotated[dict[str, str], NoDecode, BeforeValidator(_decode)]
"""A JSON object whose values are texts."""
JsonObject = Annotated[dict[str, Any], NoDecode, BeforeValidator(_decode)]
"""A JSON object."""
Patterns = Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(_decode)]
"""A JSON list of patterns; an empty one allows nothing, no setting everything."""


def known_names(names: tuple[str, ...], known: Collection[str]) -> tuple[str, ...]:
    """The names, each of which must be known and stand there once; ValueError where it is otherwise."""
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {name!r}: take some of {', '.join(known)}")
        if names.count(name) > 1:
            raise ValueError(f"{name!r} stands there twice")
    return names


def checked_rules(publish: tuple[str, ...] | None, subscribe: tuple[str, ...] | None) -> Rules:
    """Rules of two lists of patterns; InvalidError, which is a ValueError, where a pattern cannot be."""
    rules = Rules(publish, subscribe)
    check_rules(rules)
    return rules


def secret_of(name: str, value: SecretStr | None, file: Path | None) -> SecretStr | None:
    """The secret that stands in the environment or in a file (without the line's end); None where there is none.

    Raises:
        ValueError: There are both, or the file cannot be read or is empty.
    """
    if file is None:
        return value
    if value is not None:
        raise ValueError(f"{name} and {name}_file are both set: one of them is enough")
    secret = text_of(f"{name}_file", file).rstrip("\r\n")
    if not secret:
        raise ValueError(f"the file that {name}_file names is empty")
    return SecretStr(secret)


def text_of(name: str, file: Path) -> str:
    """The text of a file that a setting names; ValueError where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise ValueError(f"the file that {name} names, {file}, cannot be read: {why}") from None


def check_url(url: str, allow_plaintext: bool) -> None:
    """ValueError where a service cannot, or should not, be asked at a URL.

    Without TLS whoever is on the way can answer for the service, and reads what it is sent.
    """
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError("this is no URL: write one such as https://host/path") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_port:
        raise ValueError("this is no URL: write one such as https://host/path")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL with a user name or password would show it in logs: take it out")
    if parts.scheme == "http" and not allow_plaintext and not _is_loopback(parts.hostname):
        raise ValueError("this URL is not protected by TLS: write https://, or set allow_plaintext")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
