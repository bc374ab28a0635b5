"""The share groups of persistent APPLICATIONs that have members here, put together: what the gateway calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from contracts.topics import parse_share
from edge.gateway.application_shares.dispatcher import EntityDispatcher, EntitySetting
from edge.gateway.application_shares.entities import Entities
from edge.gateway.application_shares.members import Member, Members
from edge.gateway.application_shares.turns import Turns


class ApplicationShares:
    """Group (`$share/<group>/<filter>`) → its members here, and their dispatcher."""

    def __init__(self, setting: EntitySetting) -> None:
        """Prepare; nothing is begun before the first member comes."""
        self._setting = setting
        self.turns = Turns(Entities(setting.kafka, setting.topics).refused)
        """In which clients subscribe."""
        self._loop = asyncio.get_running_loop()
        self._members: dict[str, Members] = {}
        self._dispatchers: dict[str, EntityDispatcher] = {}

    def join(self, client_id: str, group: str, qos: int) -> None:
        """A connected client is a member, as of now."""
        member = Member(client_id, qos, self._setting.node)
        members = self._members.get(group)
        if members is not None:
            members.put(member)
            return
        share = parse_share(group)
        assert share is not None  # noqa: S101 - whoever calls knows that it is one
        members = self._members[group] = Members()
        members.put(member)
        before = self._dispatchers.get(group)
        self._dispatchers[group] = EntityDispatcher(self._setting, share, members, before)

    def leave(self, client_id: str, group: str, settled: Callable[[], None]) -> None:
        """A member here is none any more; call back when nothing more is written for it."""
        members = self._members.get(group)
        if members is None:
            settled()
            return
        members.remove(client_id, lambda: self._tell(settled))
        if not members:
            del self._members[group]
            self._dispatchers[group].stop()

    def _tell(self, settled: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(settled)

    def stop(self) -> None:
        """End all dispatchers; it blocks."""
        for dispatcher in self._dispatchers.values():
            dispatcher.stop()
        for dispatcher in self._dispatchers.values():
            dispatcher.join()
