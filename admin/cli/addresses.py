"""HOST:PORT as an option's value."""

from __future__ import annotations

from admin.errors import UsageError


def parse_address(text: str) -> tuple[str, int]:
    """Split HOST:PORT; an IPv6 address stands in brackets.

    Raises:
        UsageError: It is not of that form.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"{text!r} is not an address: give HOST:PORT, as in 127.0.0.1:1883 or [::1]:1883.")
    return host.removeprefix("[").removesuffix("]"), int(port)
