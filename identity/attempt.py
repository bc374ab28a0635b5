"""What a client shows when it connects: all that authentication providers see of it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ConnectAttempt:
    """One CONNECT, and the connection that it came on. `repr` shows neither password nor certificates."""

    client_id: str
    """The client id, also one that the gateway has chosen."""
    username: str | None = None
    """The user name; None where there is none."""
    password: bytes | None = field(default=None, repr=False)
    """The password; None where there is none."""
    certificates: tuple[bytes, ...] = field(default=(), repr=False)
    """The client's certificate and those above it, in DER, as TLS has **verified** them: since Python 3.13 those of
    `SSLObject.get_verified_chain()`, before that the client's own, `getpeercert(True)`. Never what
    `get_unverified_chain()` tells: that is whatever the client chose to send."""
    address: str | None = None
    """The client's IP address, behind proxies that are trusted the one that they tell."""
    is_id_assigned: bool = False
    """Whether the gateway has chosen the client id, because the client gave none."""
