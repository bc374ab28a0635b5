"""The list of unauthorized clients, as a gateway adds to it: gathered for a second, written in a thread.

Whoever may not come in decides how often it tries, so what waits is bounded, and a database that does not answer costs
nothing but the lines.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

from contracts.wall_clock import epoch_ms
from identity.errors import IdentityError
from identity.unauthorized import Unauthorized

log = logging.getLogger(__name__)

_PERIOD = 1.0  # seconds for which lines are gathered, as each transaction costs the disk
_MOST = 1_000  # client ids that wait; more are only counted among the refused


class TurnedAway:
    """Gathers, and has the lines written."""

    def __init__(self, record: Callable[[Iterable[Unauthorized]], None]) -> None:
        """`record`: `identity.unauthorized.UnauthorizedClients.record`; it blocks."""
        self._record = record
        self._lines: dict[str, Unauthorized] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._is_closed = False
        self._loop = asyncio.get_running_loop()

    def note(self, client_id: str, address: str, username: str | None, reason: str) -> None:
        """A client was turned away."""
        before = self._lines.get(client_id)
        if before is None and len(self._lines) >= _MOST:
            return
        line = Unauthorized(client_id, address, username, reason, epoch_ms())
        self._lines[client_id] = line if before is None else replace(line, attempts=before.attempts + 1)
        if self._timer is None and self._writing is None and not self._is_closed:
            self._timer = self._loop.call_later(_PERIOD, self._write_soon)

    async def close(self) -> None:
        """Write what is left."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._writing is not None:
            await self._writing
        await self._write()

    def _write_soon(self) -> None:
        self._timer = None
        self._writing = self._loop.create_task(self._write())
        self._writing.add_done_callback(self._written)

    def _written(self, _: asyncio.Task[None]) -> None:
        self._writing = None
        if self._lines and not self._is_closed:
            self._timer = self._loop.call_later(_PERIOD, self._write_soon)

    async def _write(self) -> None:
        lines, self._lines = self._lines, {}
        if not lines:
            return
        try:
            await asyncio.to_thread(self._record, lines.values())
        except IdentityError as error:
            log.warning("%d clients that were turned away are not on the list: %s", len(lines), error)
