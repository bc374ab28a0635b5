"""What the API's routes work with, opened once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from admin.api.attempts import LoginAttempts
from admin.clients.administered import AdministeredClients
from admin.cluster.cluster import ObservedCluster
from admin.cluster.states import LIVING
from admin.errors import KafkaUnavailableError
from contracts.state_record import Authentication
from identity.blocked import BlockedClients
from identity.database import Database
from identity.logins import Logins
from identity.shared_subscriptions import SharedSubscriptions
from identity.stored_credentials import StoredCredentials
from identity.stored_providers import StoredProviders
from identity.unauthorized import UnauthorizedClients
from identity.users import Users


@dataclass
class Services:
    """The repositories of one database of identity, and what there is of a cluster."""

    database: Database
    attempts: LoginAttempts = field(default_factory=LoginAttempts)
    clients: AdministeredClients | None = None
    """The cluster's clients; None where nobody said where its Kafka is."""
    cluster: ObservedCluster | None = None
    """Its gateways, router and Kafka; the same."""

    def __post_init__(self) -> None:
        self.users = Users(self.database)
        self.logins = Logins(self.database)
        self.credentials = StoredCredentials(self.database)
        self.blocked = BlockedClients(self.database)
        self.unauthorized = UnauthorizedClients(self.database)
        self.shared = SharedSubscriptions(self.database)
        self.providers = StoredProviders(self.database)

    def authentication_in_force(self) -> list[tuple[str, Authentication]]:
        """What each gateway that lives says of its providers; nothing while Kafka does not answer."""
        if self.cluster is None:
            return []
        try:
            gateways = self.cluster.states.view.gateways()
        except KafkaUnavailableError:
            return []
        return [(state.node, state.authentication) for state, seen in gateways if seen.life == LIVING]
