"""Credentials as the API shows and takes them; no secret is ever shown."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from identity.answers import ClientType, Rules
from identity.credentials import BasicCredentials, Credentials, ScramCredentials, X509Credentials
from identity.passwords import hash_password, scram_verifiers


class RulesModel(BaseModel):
    """What clients may do; null allows everything, an empty list nothing."""

    publish: list[str] | None = None
    subscribe: list[str] | None = None

    def rules(self) -> Rules:
        """As the database takes them."""
        return Rules(
            None if self.publish is None else tuple(self.publish),
            None if self.subscribe is None else tuple(self.subscribe),
        )


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    client_type: ClientType = ClientType.DEVICE
    rules: RulesModel = RulesModel()


class GivenBasic(_Given):
    """Credentials for a client id, a user name, or both."""

    kind: Literal["basic"]
    client_id: str | None = None
    username: str | None = None
    password: SecretStr | None = None
    """Left out, the password that there is stays; for new credentials `no_password` must be meant."""
    no_password: bool = False
    """Let in whoever gives these names."""

    def credentials(self) -> BasicCredentials:
        """As the database takes them. Blocking: some 25 ms for a password."""
        password = self.password.get_secret_value() if self.password else None
        return BasicCredentials(
            name=self.name, client_type=self.client_type, rules=self.rules.rules(),
            client_id=self.client_id, username=self.username,
            password_hash=None if password is None else hash_password(password.encode(errors="replace")),
        )  # fmt: skip


class GivenX509(_Given):
    """Credentials for clients with a certificate."""

    kind: Literal["x509"]
    common_name: str
    is_pattern: bool = False

    def credentials(self) -> X509Credentials:
        """As the database takes them."""
        return X509Credentials(
            name=self.name, client_type=self.client_type, rules=self.rules.rules(),
            common_name=self.common_name, is_pattern=self.is_pattern,
        )  # fmt: skip


class GivenScram(_Given):
    """Credentials for SCRAM."""

    kind: Literal["scram"]
    username: str
    password: SecretStr

    def credentials(self) -> ScramCredentials:
        """As the database takes them. Blocking: some 25 ms."""
        return ScramCredentials(
            name=self.name, client_type=self.client_type, rules=self.rules.rules(),
            username=self.username, verifiers=scram_verifiers(self.password.get_secret_value()),
        )  # fmt: skip


GivenCredentials = Annotated[GivenBasic | GivenX509 | GivenScram, Field(discriminator="kind")]


class CredentialsModel(BaseModel):
    """Credentials that are stored."""

    name: str
    kind: str
    client_type: ClientType
    client_id: str | None = None
    username: str | None = None
    common_name: str | None = None
    is_pattern: bool = False
    has_password: bool
    rules: RulesModel

    @classmethod
    def of(cls, one: Credentials) -> CredentialsModel:
        """Of some of the database."""
        rules = RulesModel(
            publish=None if one.rules.publish is None else list(one.rules.publish),
            subscribe=None if one.rules.subscribe is None else list(one.rules.subscribe),
        )
        shown = {"name": one.name, "kind": one.kind, "client_type": one.client_type, "rules": rules}
        match one:
            case BasicCredentials():
                has_password = one.password_hash is not None
                names = {"client_id": one.client_id, "username": one.username}
            case X509Credentials():
                has_password = False
                names = {"common_name": one.common_name}
                shown["is_pattern"] = one.is_pattern
            case ScramCredentials():
                has_password = True
                names = {"username": one.username}
        return cls.model_validate({**shown, **names, "has_password": has_password})

    def holds(self, text: str) -> bool:
        """Whether any of its names holds a text, whatever its case."""
        names = (self.name, self.client_id, self.username, self.common_name)
        return any(text.casefold() in name.casefold() for name in names if name)
