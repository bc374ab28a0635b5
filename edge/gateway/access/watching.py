"""Changes in the database reach connections that are open: looked for once a second, in a thread.

Asked are only the revisions, in one small query; credentials, blocks and providers are read when theirs has changed.
Other providers judge whoever comes from then on; who was let in before stays in.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from contracts.wall_clock import epoch_ms
from edge.gateway.access.admitted import Admitted
from edge.gateway.access.chains import Chains, Rebuilt
from edge.gateway.access.entrance import Entrance
from edge.gateway.access.identities import Identity
from edge.gateway.connection import Connection
from edge.mqtt.reason_codes import ReasonCode
from identity.block_list import Block, BlockList
from identity.credentials import Credentials
from identity.database import Group
from identity.errors import IdentityError

log = logging.getLogger(__name__)

PERIOD = 1.0
"""Seconds between looks, so that a change takes effect within two."""


class Revisions(Protocol):
    """What is asked each time (`identity.database.Database`)."""

    def revisions(self) -> dict[Group, int]:
        """The revision of each group."""
        ...


class CredentialsById(Protocol):
    """What is asked after a change (`identity.stored_credentials.StoredCredentials`)."""

    def by_ids(self, ids: Iterable[int]) -> dict[int, Credentials]:
        """Those of these ids that there still are."""
        ...


class Blocks(Protocol):
    """What is asked after a change (`identity.blocked.BlockedClients`)."""

    def list(self) -> list[Block]:
        """All."""
        ...


@dataclass(frozen=True)
class Sources:
    """The database."""

    revisions: Revisions
    credentials: CredentialsById
    blocks: Blocks
    chains: Chains | None = None
    """None: the providers stay as they are."""


@dataclass(frozen=True)
class _Found:
    """What a look has brought."""

    revisions: Mapping[Group, int]
    credentials: Mapping[int, Credentials] | None
    """None: they have not changed."""
    blocked: BlockList | None
    """None: it has not changed."""
    ended: Collection[Connection] = ()
    """Whom the new list keeps out."""
    rebuilt: Rebuilt | None = None
    """Other providers; None: they have not changed."""


class Watching:
    """Looks, and has what changed take effect."""

    def __init__(
        self, sources: Sources, admitted: Admitted, entrance: Entrance, period: float = PERIOD
    ) -> None:
        """Prepare to look; `read_blocks` comes first."""
        self._sources = sources
        self._admitted = admitted
        self._entrance = entrance
        self._period = period
        self._known: dict[Group, int] = {}
        self._is_stale = False
        self._is_unavailable = False
        self._timer: asyncio.TimerHandle | None = None
        self._look: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._loop = asyncio.get_running_loop()

    async def start(self) -> None:
        """Read who is blocked, before anybody comes; then look each second.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        self._take(await asyncio.to_thread(self._ask, {}, set(), []), set(), set())
        self._timer = self._loop.call_later(self._period, self._look_soon)

    async def stop(self) -> None:
        """Look no more."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self._look is not None:
            await asyncio.gather(self._look, return_exceptions=True)

    def revised(self) -> None:
        """Somebody was let in by what may be old: look again though no revision has grown."""
        self._is_stale = True

    async def look(self) -> None:
        """Look once."""
        known = dict(self._known)
        if self._is_stale:
            self._is_stale = False
            known.pop(Group.CREDENTIALS, None)
            known.pop(Group.BLOCKED, None)
        present = list(self._admitted)
        ids = {identity.credentials_id for _, identity in present if identity.credentials_id is not None}
        try:
            found = await asyncio.to_thread(self._ask, known, ids, present)
        except IdentityError as error:
            if not self._is_unavailable:
                log.warning("changes of rules and blocks have to wait: %s", error)
            self._is_unavailable = True
            self._is_stale |= len(known) != len(self._known)
            return
        self._is_unavailable = False
        self._take(found, ids, {connection for connection, _ in present})

    def _look_soon(self) -> None:
        self._look = self._loop.create_task(self.look())
        self._look.add_done_callback(self._looked)

    def _looked(self, look: asyncio.Task[None]) -> None:
        if not look.cancelled() and (error := look.exception()) is not None:
            log.error("a look for changed rules broke", exc_info=error)
            self._is_stale = True
        if not self._is_stopped:
            self._timer = self._loop.call_later(self._period, self._look_soon)

    def _ask(
        self, known: Mapping[Group, int], ids: Iterable[int], present: Sequence[tuple[Connection, Identity]]
    ) -> _Found:
        # In a thread. Revisions first: what is read after them is never older than they say.
        revisions = self._sources.revisions.revisions()
        credentials = blocked = None
        ended: set[Connection] = set()
        if revisions[Group.CREDENTIALS] != known.get(Group.CREDENTIALS):
            credentials = self._sources.credentials.by_ids(ids)
        if revisions[Group.BLOCKED] != known.get(Group.BLOCKED):
            blocked = BlockList(self._sources.blocks.list())
            ended = {connection for connection, who in present if _keeps_out(blocked, who)}
        chains, rebuilt = self._sources.chains, None
        if chains is not None and revisions[Group.AUTHENTICATION] != known.get(Group.AUTHENTICATION):
            rebuilt = chains.rebuild()
        return _Found(revisions, credentials, blocked, ended, rebuilt)

    def _take(self, found: _Found, asked: set[int], seen: set[Connection]) -> None:
        if self._known != found.revisions:
            self._entrance.revision += 1
        self._known = dict(found.revisions)
        if found.rebuilt is not None and self._sources.chains is not None:
            self._sources.chains.taken(found.rebuilt)
            if found.rebuilt.chain is not None:
                self._entrance.replace(found.rebuilt.chain)
        if found.blocked is not None:
            self._entrance.blocked = found.blocked
            for connection, identity in self._admitted:
                if connection in found.ended or (
                    connection not in seen and _keeps_out(found.blocked, identity)  # let in meanwhile
                ):
                    self._admitted.end(connection, ReasonCode.ADMINISTRATIVE_ACTION)
        if found.credentials is not None:
            for connection, identity in self._admitted:
                self._refresh(connection, identity, found.credentials, asked)

    def _refresh(
        self, connection: Connection, identity: Identity, found: Mapping[int, Credentials], asked: set[int]
    ) -> None:
        id = identity.credentials_id
        if id is None:
            return
        if id not in asked:  # let in meanwhile
            self._is_stale = True
        elif id not in found:
            self._admitted.end(connection, ReasonCode.NOT_AUTHORIZED)
        elif found[id].rules != identity.rules:
            self._admitted.change(connection, replace(identity, rules=found[id].rules))


def _keeps_out(blocked: BlockList, who: Identity) -> bool:
    now_ms = epoch_ms()
    return blocked.find(who.client_id, who.username, who.address, now_ms) is not None
