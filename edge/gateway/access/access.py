"""Access put together from the configuration: the entrance, who is admitted, and what changes that.

A gateway without providers and without a database has none of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from contracts.state_record import Authentication
from edge.gateway.access.admitted import Admitted
from edge.gateway.access.chains import Chains, described
from edge.gateway.access.entrance import Entrance, Entry, LetIn
from edge.gateway.access.turned_away import TurnedAway
from edge.gateway.access.watching import Sources, Watching
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.mqtt.events import AuthReceived, ConnectReceived
from identity.blocked import BlockedClients
from identity.chain import Chain
from identity.database import Database, open_database
from identity.settings import load_settings
from identity.stored_credentials import StoredCredentials
from identity.stored_providers import StoredProviders
from identity.unauthorized import UnauthorizedClients

_NOBODY_ASKED = Authentication()


class Access:
    """Who is let in, and what it may do."""

    def __init__(
        self, chain: Chain, database: Database | None, counters: Counters, timeout: float, let_in: LetIn,
        drop_denied: Callable[[Connection], None], chains: Chains | None = None,
        in_force: Authentication = _NOBODY_ASKED,
    ) -> None:  # fmt: skip
        """Prepare to let clients in.

        Args:
            chain: Who judges them.
            database: Whose rules and blocks take effect while it is open; closed at the end.
            counters: The gateway's.
            timeout: Seconds for a judgement.
            let_in: To the sessions.
            drop_denied: Ends those of a connection's subscriptions that its permissions allow no more.
            chains: Makes the chain anew when the database says so; None: it stays.
            in_force: What is told of a chain that stays.
        """
        self._chains = chains
        self._in_force = in_force
        self._database = database
        self._admitted = Admitted(drop_denied)
        self._turned_away: TurnedAway | None = None
        self._watching: Watching | None = None
        if database is not None:
            self._turned_away = TurnedAway(UnauthorizedClients(database).record)
        self._entrance = Entrance(
            Entry(chain, self._admitted, counters, let_in, timeout, self._turned_away, self._revised)
        )
        if database is not None:
            sources = Sources(database, StoredCredentials(database), BlockedClients(database), chains)
            self._watching = Watching(sources, self._admitted, self._entrance)

    @property
    def in_force(self) -> Authentication:
        """The providers that are asked, for people."""
        return self._in_force if self._chains is None else self._chains.in_force

    async def start(self) -> None:
        """Find out who is blocked; from then on clients may come.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        if self._watching is not None:
            await self._watching.start()

    def connect(self, connection: Connection, event: ConnectReceived) -> None:
        """A client wants in."""
        self._entrance.connect(connection, event)

    def auth_received(self, connection: Connection, event: AuthReceived) -> None:
        """A client goes on with enhanced authentication, or begins it anew."""
        self._entrance.conversing.received(connection, event)

    def ended(self, connection: Connection) -> None:
        """A connection is over."""
        self._entrance.ended(connection)

    async def close(self) -> None:
        """Let nobody in any more, write down who was turned away, and let go of the database."""
        await self._entrance.close()
        if self._watching is not None:
            await self._watching.stop()
        self._admitted.close()
        if self._turned_away is not None:
            await self._turned_away.close()
        if self._database is not None:
            await asyncio.to_thread(self._database.close)

    def _revised(self) -> None:
        if self._watching is not None:
            self._watching.revised()


def open_access(
    database_url: str | None, counters: Counters, timeout: float, let_in: LetIn,
    drop_denied: Callable[[Connection], None],
) -> Access:  # fmt: skip
    """Access with the providers that the environment, or else the database, names; arguments as for `Access`.

    Raises:
        InvalidError: A provider's setting is wrong, or one needs a database.
        DatabaseUrlError, DatabaseUnavailableError: There is no such database, or it does not answer.
    """
    if database_url is None:
        settings = load_settings()
        return Access(
            settings.chain(), None, counters, timeout, let_in, drop_denied, in_force=described(settings)
        )
    database = open_database(database_url)
    try:
        chains = Chains(StoredProviders(database), StoredCredentials(database))
        chain = chains.first()
    except BaseException:
        database.close()
        raise
    return Access(chain, database, counters, timeout, let_in, drop_denied, chains)
