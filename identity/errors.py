"""Errors of identity.

IdentityError
├── DatabaseUrlError (also a ValueError)   the URL names no database that there is
├── DatabaseUnavailableError               the database does not answer, or refuses
├── InvalidError (also a ValueError)       what was given cannot be: a pattern, a name, an address …
├── AlreadyThereError                      there is one with that name, or for that client
├── NotThereError                          there is none with that name
└── LastAdministratorError                 without that user nobody could add users any more

No message ever holds a password, a hash, or a URL's password.
"""

from __future__ import annotations


class IdentityError(Exception):
    """Something is wrong; the message is one sentence."""


class DatabaseUrlError(IdentityError, ValueError):
    """The URL names no database that there is."""


class DatabaseUnavailableError(IdentityError):
    """The database does not answer, or refuses. Nothing is known to be written; trying again later is right."""

    def __init__(self, url: str, reason: str) -> None:
        """`url` without its password; `reason` as the driver tells it."""
        super().__init__(f"the database at {url} cannot be used: {reason}")
        self.url = url


class InvalidError(IdentityError, ValueError):
    """What was given cannot be; the message says what to change."""


class AlreadyThereError(IdentityError):
    """There is one already, and only one can be."""


class NotThereError(IdentityError):
    """There is none of that name."""


class LastAdministratorError(IdentityError):
    """Without that user, or with another role of its, nobody could add users any more."""
