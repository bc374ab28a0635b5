"""The sessions of the cluster, as `tbmq.client.session` tells."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from admin.clients.names import SortedNames
from admin.clients.search import matcher
from contracts import session_record
from contracts.application_progress import Progress, offsets_of
from contracts.headers import QOS, RETAIN
from contracts.session_record import (
    CONNECTED,
    KeptWill,
    Part,
    SessionRecord,
    WillPart,
)

SORTS: dict[str, Callable[[str, SessionRecord], object]] = {
    "client_id": lambda client_id, _: client_id,
    "user_name": lambda _, session: session.user_name or "",
    "node": lambda _, session: session.node,
    "state": lambda _, session: session.state,
    "client_type": lambda _, session: session.client_type,
    "protocol": lambda _, session: session.protocol,
    "address": lambda _, session: session.address,
    "connected_at_ms": lambda _, session: session.connected_at_ms,
    "disconnected_at_ms": lambda _, session: session.ended_at_ms,
}
"""By what a list may be in order."""


@dataclass(frozen=True, slots=True)
class ClientQuery:
    """Which sessions are wanted, and in which order."""

    search: str = ""
    """As `search.matcher` has it, for client ids and user names."""
    connected: bool | None = None
    client_type: str | None = None
    node: str | None = None
    sort: str = "client_id"
    descending: bool = False


@dataclass(frozen=True, slots=True)
class ApplicationPlace:
    """How far an APPLICATION is in its Kafka topic."""

    floor: int
    """Everything before this offset is done with."""
    done_above: int
    """How many are, above it."""


class SessionsView:
    """Client id → session. Whoever has it takes care that nobody changes it while another reads."""

    def __init__(self) -> None:
        self._sessions: dict[str, SessionRecord] = {}
        self._names = SortedNames()
        self._places: dict[str, ApplicationPlace] = {}
        self._wills: dict[str, dict[str, KeptWill]] = {}
        self._users: Counter[str] = Counter()
        """How many sessions have each user name."""
        self.connected = 0
        """How many have a connection."""

    def __len__(self) -> int:
        return len(self._sessions)

    def take(
        self, key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = ()
    ) -> None:
        """The next record of the log.

        Raises:
            RecordError: It is not of the documented form.
        """
        client_id, part = session_record.decode_key(key)
        if isinstance(part, str | int):
            return  # subscriptions of all clients stand elsewhere; inbound exchanges are nobody's interest
        record = None if value is None else session_record.decode(key, value, headers)
        if part is None:
            self._put(client_id, record if isinstance(record, SessionRecord) else None)
        elif part is Part.PROGRESS:
            self._places.pop(client_id, None)
            if isinstance(record, Progress):
                done = sum(1 for _ in offsets_of(record.acked))
                self._places[client_id] = ApplicationPlace(record.floor, done)
        elif isinstance(part, WillPart):
            self._put_will(client_id, part.connection, record if isinstance(record, KeptWill) else None)

    def get(self, client_id: str) -> SessionRecord | None:
        """A client's session."""
        return self._sessions.get(client_id)

    def place(self, client_id: str) -> ApplicationPlace | None:
        """How far a persistent APPLICATION is; None where it has yet to begin."""
        return self._places.get(client_id)

    def will(self, client_id: str) -> KeptWill | None:
        """The will of a client's connection, or of its last one while that waits; its payload is left out."""
        session, wills = self._sessions.get(client_id), self._wills.get(client_id, {})
        return None if session is None else wills.get(session.connection)

    def find(
        self, query: ClientQuery, offset: int, limit: int
    ) -> tuple[int, list[tuple[str, SessionRecord]]]:
        """How many sessions there are of those that are wanted, and some of them."""
        sessions = self._sessions
        names = self._matching(query)
        if query.sort != "client_id":
            by = SORTS[query.sort]
            names = sorted(names, key=lambda name: by(name, sessions[name]), reverse=query.descending)  # type: ignore[arg-type,return-value] # each sorts by one type
            page = names[offset : offset + limit]
        elif query.descending:
            page = names[::-1][offset : offset + limit]
        else:
            page = names[offset : offset + limit]
        return len(names), [(name, sessions[name]) for name in page]

    def _matching(self, query: ClientQuery) -> list[str]:
        """By client id."""
        sessions = self._sessions
        names = self._names.ordered(sessions)
        if query.node is not None:
            names = [name for name in names if sessions[name].node == query.node]
        if query.client_type is not None:
            names = [name for name in names if sessions[name].client_type == query.client_type]
        if query.connected is not None:
            names = [name for name in names if (sessions[name].state == CONNECTED) is query.connected]
        if query.search:
            is_sought = matcher(query.search)
            users = {user for user in self._users if is_sought(user)}
            if users:  # seldom: so the sessions need not be looked at
                names = [name for name in names if is_sought(name) or sessions[name].user_name in users]
            else:
                names = [name for name in names if is_sought(name)]
        return names

    def _put(self, client_id: str, session: SessionRecord | None) -> None:
        before = self._sessions.pop(client_id, None)
        if before is not None:
            self.connected -= before.state == CONNECTED
            if before.user_name is not None:
                self._users[before.user_name] -= 1
                if not self._users[before.user_name]:
                    del self._users[before.user_name]
        if session is None:
            if before is not None:
                self._names.remove(client_id)
            return
        if before is None:
            self._names.add(client_id)
        self.connected += session.state == CONNECTED
        self._sessions[client_id] = kept = _kept(session)
        if kept.user_name is not None:
            self._users[kept.user_name] += 1

    def _put_will(self, client_id: str, connection: str, kept: KeptWill | None) -> None:
        wills = self._wills.setdefault(client_id, {})
        wills.pop(connection, None)
        if kept is not None:
            # Of the payload only how long it is will be told, and of the properties nothing.
            size = str(len(kept.will.payload)).encode()
            headers = tuple(one for one in kept.will.headers if one[0] in (QOS, RETAIN))
            wills[connection] = replace(kept, will=replace(kept.will, payload=size, headers=headers))
        elif not wills:
            del self._wills[client_id]


def _kept(session: SessionRecord) -> SessionRecord:
    """A session as it is kept: what few values repeat in many is there once, and what nobody looks at, not at all.

    Named field by field: `dataclasses.replace` takes as long as all the rest of reading a record.
    """
    user = session.user_name
    return SessionRecord(
        sys.intern(session.state), sys.intern(session.node), "", session.connection, session.expiry,
        session.protocol, sys.intern(session.client_type), session.connected_at_ms, session.ended_at_ms,
        session.is_persistent, warning=sys.intern(session.warning),
        user_name=None if user is None else sys.intern(user), address=session.address,
        keep_alive=session.keep_alive, clean_start=session.clean_start, is_cleared=session.is_cleared,
    )  # fmt: skip
