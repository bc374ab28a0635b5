r"""Whether a pattern allows all that a filter with wildcards would bring, although only texts can be matched.

The filter's own text would not do: the pattern `sensors/[^/]+` matches the text `sensors/#`, which brings whole trees.
So each wildcard becomes a mark, and the pattern is rewritten so that a mark can stand only where any level may, or any
levels: for `+` these are `.*`, `.+`, `[^/]*` and `[^/]+`, for `#` only the first two. A pattern may also name a
wildcard (`\+`, `#`): then the filter is allowed as it is written. All else that could match a mark no longer does.
"""

from __future__ import annotations

from functools import lru_cache

from identity.patterns import KEPT, Kind, matches, parts

# Noncharacters: valid in UTF-8, and no name of anything. A filter that holds one is refused.
_LEVEL, _TAIL = "\U0010fffe", "\U0010ffff"
_NEITHER = f"[^{_LEVEL}{_TAIL}]"
_NOTHING = r"[^\x00-\x{10FFFF}]"
_NAMED = {r"\+": _LEVEL, "[+]": _LEVEL, "#": _TAIL, r"\#": _TAIL, "[#]": _TAIL}
_COMPLEMENTS = {
    r"\S": rf"[^\s{_LEVEL}{_TAIL}]",
    r"\D": rf"[^\d{_LEVEL}{_TAIL}]",
    r"\W": rf"[^\w{_LEVEL}{_TAIL}]",
}
# The first two look at a neighbour, which is another one when the wildcard stands for something; \C takes one byte, so
# that several of it take a mark.
_NEVER = (r"\b", r"\B", r"\C")


def allows(filled: str, filter: str) -> bool:
    """Tell whether a pattern, filled in for a client, allows a filter (without `$share/<group>/` and the like).

    Not asked for, because hardly a pattern is written with them in mind: the parent `a` that `a/#` also brings, and the
    empty level that `+` also stands for.
    """
    if "+" not in filter and "#" not in filter:
        return matches(filled, filter)
    if _LEVEL in filter or _TAIL in filter:
        return False
    return matches(_rewritten(filled), filter.replace("+", _LEVEL).replace("#", _TAIL))


@lru_cache(maxsize=KEPT)
def _rewritten(filled: str) -> str:
    return "".join(_piece(kind, text) for kind, text in parts(filled))


def _piece(kind: Kind, text: str) -> str:
    if kind is Kind.ANY:
        return text  # takes both marks, as it takes whatever they stand for
    if kind is Kind.LEVEL:
        return text.replace("/", f"/{_TAIL}")  # takes any level, and nothing beyond it
    if kind is Kind.QUOTED:
        return text.replace("+", _LEVEL).replace("#", _TAIL)
    if text in _NAMED:
        return _NAMED[text]
    if text == ".":
        return _NEITHER
    if text in _NEVER:
        return _NOTHING
    if kind in (Kind.CLASS, Kind.ESCAPE) and (matches(text, _LEVEL) or matches(text, _TAIL)):
        return _without_marks(text)
    return text


def _without_marks(text: str) -> str:
    """A class that takes the marks among other things, without them; one that takes nothing where that is hard."""
    if text.startswith("[^"):
        rest = text[2:]
        # What stands first in a class may have lost its meaning by that.
        return f"[^{_LEVEL}{_TAIL}{chr(92) if rest[0] in ']-' else ''}{rest}"
    return _COMPLEMENTS.get(text, _NOTHING)
