"""User names as SCRAM compares them: prepared by SASLprep (RFC 4013), so that one name has one form."""

from __future__ import annotations

from scramp import ScramException, ScramMechanism

from identity.errors import InvalidError


def prepared_name(username: str) -> str:
    """The form of a user name in which SCRAM clients' names arrive.

    Raises:
        InvalidError: It is empty, or holds what no user name in SCRAM may.
    """
    escaped = username.replace("=", "=3D").replace(",", "=2C")
    try:
        return name_in(f"n,,n={escaped},r=any")
    except ScramException:
        raise InvalidError(
            f"SCRAM does not allow the user name {username!r}: leave out control characters"
        ) from None


def name_in(client_first: str) -> str:
    """The user name in a client-first message, prepared; ScramException where the message is none.

    scramp asks for the keys while it reads the message, which is before anybody could have looked for them: here it is
    given some that are of no use.
    """
    names: list[str] = []

    def note(name: str) -> tuple[bytes, bytes, bytes, int]:
        names.append(name)
        return bytes(32), bytes(1), bytes(1), 4096

    ScramMechanism("SCRAM-SHA-256").make_server(note).set_client_first(client_first)
    return names[0]
