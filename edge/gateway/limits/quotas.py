"""How many sessions the whole cluster may have, as one owner of some of them decides it. Pure.

Exact for the partitions that it owns; what others own it knows as of their last transaction, so what they grant in the
same moment may come on top.
"""

from __future__ import annotations

from collections.abc import Callable

from contracts.session_census import Census
from contracts.session_event import APPLICATION, ConnectRequested
from contracts.session_record import SessionRecord


class Quotas:
    """Says who may not have a session; who has one may always come back."""

    def __init__(self, sessions: int, applications: int) -> None:
        """Args: how many there may be; 0 for any number."""
        self._sessions = sessions
        self._applications = applications
        self.elsewhere = Census()
        """What others own."""
        self.here: Callable[[], Census] = Census
        """What is owned here, at any moment."""

    def refuses(self, session: SessionRecord | None, event: ConnectRequested) -> bool:
        """Whether a client's session would be one too many; `session` is what it has."""
        is_new = session is None and self._sessions > 0
        is_new_application = (
            self._applications > 0
            and event.client_type == APPLICATION
            and event.expiry > 0
            and (session is None or not is_counted_application(session))
        )
        if not is_new and not is_new_application:
            return False
        present = self.here() + self.elsewhere
        return (is_new and present.sessions >= self._sessions) or (
            is_new_application and present.applications >= self._applications
        )


def is_counted_application(session: SessionRecord) -> bool:
    """Whether a session is one of those that the quota on applications counts."""
    return session.is_persistent and session.client_type == APPLICATION
