"""The normative statements of MQTT 3.1.1 and 5.0, and which of them need no test."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
EDITIONS = {"v3": "3.1.1", "v5": "5.0"}
"""The keyword of the mark `mqtt`, and what the edition is called."""
_ID = re.compile(r"\d+\.\d+(\.\d+)?-\d+")


class StatementError(Exception):
    """The list of statements, or a mark, is not as it must be; the message says what to change."""


@dataclass(frozen=True)
class Statement:
    """One statement."""

    edition: str
    """`v3` or `v5`."""
    id: str
    """As in the standard's appendix B, without MQTT- in front."""
    on: str
    """Whose duty it is: client, server, both."""
    says: str
    """What it wants, in our words."""
    does_not_apply: str = ""
    """Why there is no test; empty when there must be one."""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from all others."""
        return self.edition, self.id


def read_statements() -> list[Statement]:
    """All statements, 3.1.1 first, in the order of the standards.

    Raises:
        StatementError: An entry is not well formed.
    """
    statements = []
    for edition, name in EDITIONS.items():
        path = HERE / f"statements_{name.replace('.', '_')}.toml"
        for id, fields in tomllib.loads(path.read_text()).items():
            statement = Statement(edition, id, **fields)
            if not _ID.fullmatch(id) or statement.on not in ("client", "server", "both"):
                raise StatementError(f"{path.name}: {id} is not an id, or is on nobody")
            statements.append(statement)
    return statements


def read_pending() -> dict[tuple[str, str], str]:
    """Statements whose tests are being written, and what is being built; meant to be empty."""
    editions = tomllib.loads((HERE / "pending.toml").read_text())
    return {
        (edition, id): what
        for edition, entries in editions.items()
        for what, ids in entries.items()
        for id in ids.split()
    }
