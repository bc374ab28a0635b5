"""How many sessions a partition of `tbmq.client.session` has, as its owner tells.

It stands in the metadata of the offset that the owners' consumer group has committed for that partition of
`tbmq.client.session.event.request`, in the transaction that changed it: `sessions=12 applications=3`. An offset without
it tells of none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"sessions=(\d{1,18}) applications=(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Census:
    """Numbers of sessions."""

    sessions: int = 0
    """All, connected or not."""
    applications: int = 0
    """Of these, persistent ones of APPLICATIONs."""

    def __add__(self, other: Census) -> Census:
        return Census(self.sessions + other.sessions, self.applications + other.applications)


def encode(census: Census) -> str:
    """The metadata."""
    return f"sessions={census.sessions} applications={census.applications}"


def decode(metadata: str) -> Census:
    """Read metadata; what somebody else has committed there tells of none."""
    found = _FORM.fullmatch(
        metadata.rstrip("\0")
    )  # confluent-kafka 2.16 writes the end of its C string along
    return Census() if found is None else Census(int(found[1]), int(found[2]))
