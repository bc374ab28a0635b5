"""What a connection is let in as, and until when."""

from __future__ import annotations

from dataclasses import dataclass, field

from edge.mqtt.reason_codes import ReasonCode
from identity.answers import Failure, Rules, Success
from identity.attempt import ConnectAttempt
from identity.rules import Permissions


@dataclass(slots=True)
class Identity:
    """Kept while the connection lasts; a change of its credentials changes `rules`."""

    client_id: str
    username: str | None
    """The user name of CONNECT."""
    address: str
    """The host that it comes from."""
    rules: Rules
    proven_name: str | None = None
    """What `${username}` stands for in the rules; None: the user name of CONNECT."""
    credentials_id: int | None = None
    """The stored credentials that it was let in by."""
    expires_at: float | None = None
    """Seconds since 1970."""
    conversed: ConnectAttempt | None = field(default=None, repr=False)
    """Of a client that named an authentication method: its CONNECT, for when it authenticates again."""

    @property
    def permissions(self) -> Permissions | None:
        """Its rules, filled in; None where they allow everything, so that nothing needs to be looked up."""
        if self.rules.publish is None and self.rules.subscribe is None:
            return None
        name = self.username if self.proven_name is None else self.proven_name
        return Permissions(self.rules, self.client_id, name)


def identity_of(attempt: ConnectAttempt, success: Success) -> Identity:
    """What a client is let in as."""
    return Identity(
        attempt.client_id, attempt.username, attempt.address or "", success.rules, success.username,
        success.credentials_id, success.expires_at,
    )  # fmt: skip


def reason_of(failure: Failure, attempt: ConnectAttempt, has_method: bool) -> ReasonCode:
    """The reason code for CONNACK; MQTT 3.x has a return code for each."""
    if failure.is_temporary:
        return ReasonCode.SERVER_UNAVAILABLE
    if has_method or (attempt.username is None and attempt.password is None):
        return ReasonCode.NOT_AUTHORIZED  # there is nothing of that kind that could be bad
    return ReasonCode.BAD_USER_NAME_OR_PASSWORD
