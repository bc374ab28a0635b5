"""What the API's routes work with, opened once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from admin.api.attempts import LoginAttempts
from admin.clients.cluster import Cluster
from identity.blocked import BlockedClients
from identity.database import Database
from identity.logins import Logins
from identity.stored_credentials import StoredCredentials
from identity.unauthorized import UnauthorizedClients
from identity.users import Users


@dataclass
class Services:
    """The repositories of one database of identity, and what there is of a cluster."""

    database: Database
    attempts: LoginAttempts = field(default_factory=LoginAttempts)
    clients: Cluster | None = None
    """The cluster's clients; None where nobody said where its Kafka is."""

    def __post_init__(self) -> None:
        self.users = Users(self.database)
        self.logins = Logins(self.database)
        self.credentials = StoredCredentials(self.database)
        self.blocked = BlockedClients(self.database)
        self.unauthorized = UnauthorizedClients(self.database)
