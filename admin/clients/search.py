"""What people look for: a part of a name, or a pattern for all of it."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

Matcher = Callable[[str], bool]


def matcher(search: str) -> Matcher:
    """Tells whether a name is what is looked for, whatever its case.

    Args:
        search: A part of a name; with `*` (anything) or `?` (one character) in it, a pattern for the whole of it.
    """
    sought = search.casefold()
    if not is_pattern(search):
        return lambda name: sought in name.casefold()
    pattern = re.compile(fnmatch.translate(sought.replace("[", "[[]")))  # only the two have a meaning
    return lambda name: pattern.match(name.casefold()) is not None


def is_pattern(search: str) -> bool:
    """Whether it is a pattern, and not a part."""
    return "*" in search or "?" in search
