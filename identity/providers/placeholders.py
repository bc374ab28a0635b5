"""Templates with `${…}`, filled in once: what a client's name brings in is never looked at again.

`${username}` in a client id stays those eleven characters; what is filled in cannot open another placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


def placeholders_in(template: str) -> list[str]:
    """The names in `${…}`, in their order."""
    return _PLACEHOLDER.findall(template)


def check_template(template: str, known: Collection[str]) -> None:
    """ValueError where a template has a placeholder that is not known."""
    for name in placeholders_in(template):
        if name not in known:
            there_are = ", ".join(f"${{{each}}}" for each in known)
            raise ValueError(f"there is no ${{{name}}}: a template can have {there_are}")


def fill(template: str, values: Mapping[str, str | None]) -> str | None:
    """The template with its placeholders replaced; None where the client has no such value."""
    if any(values[name] is None for name in placeholders_in(template)):
        return None
    return _PLACEHOLDER.sub(lambda match: values[match[1]] or "", template)
