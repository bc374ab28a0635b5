"""HOST:PORT as an option's value."""

from __future__ import annotations

from admin.errors import UsageError
from telemetry.addresses import parse_listen


def parse_address(text: str) -> tuple[str, int]:
    """Split HOST:PORT; an IPv6 address stands in brackets.

    Raises:
        UsageError: It is not of that form.
    """
    try:
        return parse_listen(text)
    except ValueError as error:
        raise UsageError(str(error)) from None
