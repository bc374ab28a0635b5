"""The certificates that a client has shown, for those who decide who it is."""

from __future__ import annotations

import ssl
from typing import Any, cast


def peer_chain(connection: ssl.SSLObject | ssl.SSLSocket | None) -> tuple[bytes, ...]:
    """Read the verified certificates of a TLS connection's peer.

    What else the peer may have sent along proves nothing, and is not among them.

    Returns:
        In DER, the peer's own first, its authority's last. Only the peer's own for a session of TLS 1.2 that was
        resumed. None at all where none was shown, or asked for, and without TLS.
    """
    own = connection.getpeercert(binary_form=True) if connection else None
    if connection is None or own is None:
        return ()
    found: list[Any] | None
    if hasattr(connection, "get_verified_chain"):  # Python 3.13
        found = connection.get_verified_chain()
    else:  # the same, before it was documented
        found = cast(Any, connection)._sslobj.get_verified_chain()
    return tuple(_der(each) for each in found or [own])


def _der(certificate: Any) -> bytes:
    if isinstance(certificate, bytes):
        return certificate
    return ssl.PEM_cert_to_DER_cert(certificate.public_bytes())
