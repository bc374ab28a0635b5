"""Errors of the stores.

StoreError
├── StoreUrlError (also a ValueError)   the URL does not name a store that there is
├── StoreUnavailableError               the store does not answer, or refuses
└── StalePositionError                  another writer has moved the partition's position
"""

from __future__ import annotations


class StoreError(Exception):
    """Something is wrong with a store; the message is one sentence."""


class StoreUrlError(StoreError, ValueError):
    """The URL does not name a store that there is."""


class StoreUnavailableError(StoreError):
    """The store does not answer, or refuses. Nothing is known to be written; trying again later is right."""

    def __init__(self, url: str, reason: str) -> None:
        """`url` without its password; `reason` as the library tells it."""
        super().__init__(f"the store at {url} cannot be used: {reason}")
        self.url = url


class StalePositionError(StoreError):
    """The batch does not begin where the store stands: another writer was here. Nothing is written.

    The writer is to read the partition's position and fold the log again from there.
    """

    def __init__(self, partition: int, expected: int | None, stored: int | None) -> None:
        """Positions as next offsets; None where the partition is not known."""
        super().__init__(
            f"partition {partition}: the batch begins at {expected}, but the store stands at {stored}"
        )
        self.partition = partition
