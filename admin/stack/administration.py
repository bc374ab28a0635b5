"""The administration as a part of the stack: `sluicemq admin`, with the web console and the API, as its own process."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from admin.errors import UsageError
from admin.stack.ports import free_ports, require_free
from admin.stack.supervisor import Part

STARTED = "LISTENING"
"""The mark of an administration that answers, followed by JSON."""
_NEEDED = ("fastapi", "nicegui", "uvicorn")


@dataclass(frozen=True)
class Administration:
    """Where the administration is, and the database that it and the gateways ask."""

    host: str
    port: int
    database: str
    """URL of the database of identity."""

    @property
    def url(self) -> str:
        """Where browsers and programs find it."""
        return f"http://{self._address}"

    @property
    def _address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def part(self, kafka: str, urls: Mapping[str, str | None]) -> Part:
        """Describe it.

        Args:
            kafka: Bootstrap servers.
            urls: Of other databases, by the names of the settings that name them; None where there is none.
        """
        command = [sys.executable, "-m", "admin", "admin", "--listen", self._address, "--kafka", kafka]
        # URLs may have passwords in them; the environment is not in everybody's list of processes.
        environment = {"PYTHONUNBUFFERED": "1", "SLUICEMQ_DATABASE": self.database}
        environment |= {name: url for name, url in urls.items() if url is not None}
        return Part("admin", command, marks=(STARTED,), environment=environment)


def can_administrate() -> bool:
    """Whether what `sluicemq[admin]` brings is installed."""
    return all(find_spec(name) for name in _NEEDED)


def administration_at(host: str, port: int, database: str) -> Administration:
    """Say where an administration is to be, after a look whether it could be there; port 0 takes a free one.

    Raises:
        UsageError: The port is in use, or the database cannot be opened.
    """
    from identity.database import open_database  # its libraries take half a second to load
    from identity.errors import IdentityError

    if port:
        require_free(host, port)
    try:
        open_database(database).close()
    except IdentityError as error:
        raise UsageError(f"{error}.") from error
    return Administration(host, port or free_ports(1)[0], database)
