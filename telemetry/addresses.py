"""HOST:PORT as a setting's value."""

from __future__ import annotations

Address = tuple[str, int]
"""Host and port."""


def parse_listen(text: str) -> Address:
    """Split HOST:PORT; an IPv6 address stands in brackets.

    Raises:
        ValueError: It is not of that form; the message says what to write.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{text!r} is not an address: give HOST:PORT, as in 127.0.0.1:1883 or [::1]:1883.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def http_url(address: Address) -> str:
    """An address as a URL's beginning."""
    host, port = address
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
