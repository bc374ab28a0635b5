"""Patterns of rules: RE2, which takes linear time whatever pattern and text are, with placeholders for the client.

A pattern must match the whole text. `.` stands for any character. `${clientid}` and `${username}` stand for the
client's own, literally: whatever characters a name holds, it means itself and nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import lru_cache

import re2

from contracts.topics import stays_within_level
from identity.errors import InvalidError

MAX_PATTERN = 1_000
"""Characters in a pattern; more is a mistake, not a rule."""
CLIENT_ID, USERNAME = "${clientid}", "${username}"
KEPT = 2_048
"""Compiled patterns of a process, some 10 KiB each."""

_MAX_MEMORY = 1 << 20  # of one compiled pattern: its program, and what RE2 keeps of states that it has met
# In a placeholder's stead where a pattern is only tried.
_SAMPLE = "x"


class Kind(StrEnum):
    """What a pattern consists of, as far as it matters here."""

    QUOTED = "quoted"
    ESCAPE = "escape"
    ANY = "any"
    LEVEL = "level"
    CLASS = "class"
    PLACEHOLDER = "placeholder"
    OTHER = "other"


_PARTS = re.compile(
    r"""(?P<quoted>\\Q.*?(?:\\E|\Z))
      | (?P<escape>\\(?:[pP](?:\{[^}]*\}|.)|x(?:\{[^}]*\}|..)|[0-7]{1,3}|.)?)
      | (?P<any>\.[*+])
      | (?P<level>\[\^/\][*+])
      | (?P<class>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])
      | (?P<placeholder>\$\{[^}]*\})
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)

# Then `.*` would not be everything any more, which identity.wildcards counts on.
_STOPS_AT_LINES = re.compile(r"\(\?[a-zA-Z]*-[a-zA-Z]*s")


def check_pattern(pattern: str, *, placeholders: bool = True) -> None:
    """Check a pattern before it is stored.

    Raises:
        InvalidError: RE2 cannot read it, it is too long, or a placeholder stands where it cannot be filled in.
    """
    if not pattern:
        raise InvalidError(
            "a pattern is empty: write .* to match everything, or leave it out to match nothing"
        )
    if len(pattern) > MAX_PATTERN:
        raise InvalidError(
            f"a pattern has {len(pattern)} characters, {MAX_PATTERN} are allowed: write several"
        )
    if _STOPS_AT_LINES.search(pattern):
        raise InvalidError(
            f"the pattern {pattern!r} unsets the flag s: leave that out, . matches line ends here"
        )
    for kind, text in parts(pattern):
        if kind in (Kind.QUOTED, Kind.CLASS) and (CLIENT_ID in text or USERNAME in text):
            raise InvalidError(
                f"the pattern {pattern!r} has a placeholder within {text!r}: move it out of there"
            )
        if kind is not Kind.PLACEHOLDER:
            continue
        if not placeholders:
            raise InvalidError(
                f"the pattern {pattern!r} holds {text}, which has no meaning here: take it out"
            )
        if text not in (CLIENT_ID, USERNAME):
            raise InvalidError(
                f"the pattern {pattern!r} holds {text}: the only placeholders are {CLIENT_ID} and {USERNAME}"
            )
    try:
        _compile(_filled(pattern, lambda _: _SAMPLE))
    except (re2.error, UnicodeEncodeError) as error:
        raise InvalidError(f"the pattern {pattern!r} cannot be read: {_text(error)}") from None


def placeholders_of(pattern: str) -> set[str]:
    """Which placeholders a pattern has."""
    return {text for kind, text in parts(pattern) if kind is Kind.PLACEHOLDER}


def fill(pattern: str, client_id: str, username: str | None) -> str | None:
    """A checked pattern with a client's names in it, for `matches`; None where it must not match anything.

    That is so where a name that it asks for is missing, or would not stay within its level (`stays_within_level`).
    """
    values = {CLIENT_ID: client_id, USERNAME: username}
    used = {name: values.get(name) for name in placeholders_of(pattern)}
    if not all(value is not None and stays_within_level(value) for value in used.values()):
        return None
    return _filled(pattern, lambda name: used[name] or "")


def matches(filled: str, text: str) -> bool:
    """Tell whether a pattern without placeholders, or with all filled in, matches the whole text.

    What cannot be compiled (a name was too long for RE2's memory) or is no text in UTF-8 matches nothing.
    """
    compiled = _compiled(filled)
    try:
        # Bytes: for them RE2's binding does not count characters.
        return compiled is not None and compiled.fullmatch(text.encode()) is not None
    except UnicodeEncodeError:
        return False


def parts(pattern: str) -> Iterator[tuple[Kind, str]]:
    """A pattern in pieces, which together are the pattern."""
    for found in _PARTS.finditer(pattern):
        yield Kind(found.lastgroup or Kind.OTHER), found.group()


@lru_cache(maxsize=KEPT)
def _compiled(filled: str) -> re2._Regexp[str] | None:
    """Compiled, or None where that is not possible, which may take RE2 long to find out."""
    try:
        return _compile(filled)
    except (re2.error, UnicodeEncodeError):
        return None


def _compile(filled: str) -> re2._Regexp[str]:
    options = re2.Options()
    options.log_errors = False  # RE2 would write to stderr by itself
    options.dot_nl = True  # a topic may hold line ends, and `.*` means all topics
    options.max_mem = _MAX_MEMORY
    return re2.compile(filled, options)


def _filled(pattern: str, value: Callable[[str], str]) -> str:
    # A group of its own keeps what follows, such as `*`, from changing the name's last character only; -i keeps a
    # pattern that ignores case from taking one client for another.
    return "".join(
        f"(?-i:{re2.escape(value(text))})" if kind is Kind.PLACEHOLDER else text
        for kind, text in parts(pattern)
    )


def _text(error: Exception) -> str:
    said = error.args[0] if error.args else error
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
