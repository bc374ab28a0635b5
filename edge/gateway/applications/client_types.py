"""Which clients are APPLICATIONs: by what they have proven, or by a rule in the configuration where none is asked.

And what becomes of one that cannot be served as such: it is let in, and its session says why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from contracts.kafka_topics import is_plain_client_id
from contracts.session_event import APPLICATION, DEVICE

NOT_KEPT = "nothing is kept for this APPLICATION while it is away: its session ends with its connection"
"""The warning of one that wants it so."""
NO_TOPIC = (
    "nothing is kept for this APPLICATION while it is away: its client id has more than letters and digits, "
    "or more than 100 of them, and TB_APP_PERSISTED_MSG_CLIENT_ID_VALIDATION is off"
)
"""The warning of one that cannot have a Kafka topic."""

_ANY = re.compile(".*", re.DOTALL)


@dataclass(frozen=True)
class ClientTypes:
    """The rule."""

    applications: re.Pattern[str] | None = None
    """Matches the whole client id of each APPLICATION; None: there are none."""
    hashes_ids: bool = True
    """Whether client ids that cannot be part of a Kafka topic's name get a topic that is named by their hash."""

    def of(self, client_id: str) -> str:
        """A client's type."""
        is_application = self.applications is not None and self.applications.fullmatch(client_id)
        return APPLICATION if is_application else DEVICE

    def proven(self, client_type: str) -> ClientTypes:
        """The same for one client that has proven what it is."""
        return ClientTypes(_ANY if client_type == APPLICATION else None, self.hashes_ids)

    def can_keep(self, client_id: str) -> bool:
        """Whether there is a place where what comes for a client while it is away could be kept."""
        return self.hashes_ids or is_plain_client_id(client_id) or self.of(client_id) == DEVICE

    def warning(self, client_id: str, is_persistent: bool) -> str:
        """What a client's session should say of how it is served; empty where all is well."""
        if is_persistent or self.of(client_id) == DEVICE:
            return ""
        return NOT_KEPT if self.can_keep(client_id) else NO_TOPIC
