"""Authentication providers: which are on, in what order, with which settings. Secrets go in, and never come out."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from admin.api.caller import Administrator, Parts, Viewer
from admin.api.services import Services
from contracts.state_record import Authentication
from identity.errors import InvalidError
from identity.provider_choices import ProviderChoices, files_of, provider_settings, secrets_of
from identity.settings import PROVIDERS

router = APIRouter(prefix="/authentication", tags=["authentication"])

_NEED_NO_DATABASE = ("jwt", "http")


class ProviderModel(BaseModel):
    """A provider."""

    name: str
    is_enabled: bool
    """By what is stored here; what is in force stands with the nodes."""
    position: int | None
    """In the order in which they are asked, from 0."""
    needs_database: bool
    settings: dict[str, Any]
    """What is stored of them, without secrets; the others have their default."""
    secrets: dict[str, bool]
    """Whether each secret is set."""
    settings_schema: dict[str, Any]
    """JSON schema of what may be set here; secrets have `x-secret`."""


class NodeModel(BaseModel):
    """What is in force at a gateway."""

    node: str
    providers: list[str]
    source: str
    """`environment`, `database`, or `none`: everybody is let in."""
    error: str | None
    """Why what is stored is not in force."""

    @classmethod
    def of(cls, node: str, told: Authentication) -> NodeModel:
        """As a gateway tells it."""
        return cls(node=node, providers=list(told.providers), source=told.source, error=told.error)


class AuthenticationModel(BaseModel):
    """All of it."""

    providers: list[str] | None
    """The stored order; null: none is stored, gateways do what their environment says."""
    available: list[ProviderModel]
    nodes: list[NodeModel]
    """Gateways that live; empty where the administration does not know Kafka."""


class GivenOrder(BaseModel):
    """The enabled providers, in the order in which they are asked."""

    model_config = ConfigDict(extra="forbid")

    providers: list[str]
    let_everybody_in: bool = False
    """Must be said where there is no provider: then everybody may do everything."""


class GivenSettings(BaseModel):
    """A provider's settings."""

    model_config = ConfigDict(extra="forbid")

    settings: dict[str, Any]
    """A secret that is left out stays; one that is null goes."""


@router.get("")
def show(_: Viewer, parts: Parts) -> AuthenticationModel:
    """Show the providers, what is stored of them, and what is in force at each gateway."""
    return _shown(parts, parts.providers.choices())


@router.put("/order")
def put_order(given: GivenOrder, _: Administrator, parts: Parts) -> AuthenticationModel:
    """Switch providers on and off, and order them; gateways follow within two seconds."""
    if not given.providers and not given.let_everybody_in:
        raise InvalidError("without a provider everybody is let in: say `let_everybody_in` if that is meant")
    return _shown(parts, parts.providers.put_order(given.providers))


@router.delete("/order", status_code=HTTPStatus.NO_CONTENT)
def forget_order(_: Administrator, parts: Parts) -> None:
    """Store no order: gateways do what their environment says."""
    parts.providers.put_order(None)


@router.get("/providers/{name}")
def show_provider(name: str, _: Viewer, parts: Parts) -> ProviderModel:
    """Show a provider."""
    return _provider(name, parts.providers.choices())


@router.put("/providers/{name}")
def put_settings(name: str, given: GivenSettings, _: Administrator, parts: Parts) -> ProviderModel:
    """Replace the settings of a provider; they are tried before they are stored."""
    return _provider(name, parts.providers.put_settings(name, given.settings))


@router.delete("/providers/{name}", status_code=HTTPStatus.NO_CONTENT)
def forget_settings(name: str, _: Administrator, parts: Parts) -> None:
    """Forget the stored settings of a provider, its secrets too."""
    parts.providers.remove_settings(name)


def _shown(parts: Services, choices: ProviderChoices) -> AuthenticationModel:
    return AuthenticationModel(
        providers=None if choices.order is None else list(choices.order),
        available=[_provider(name, choices) for name in PROVIDERS],
        nodes=[NodeModel.of(node, told) for node, told in parts.authentication_in_force()],
    )


def _provider(name: str, choices: ProviderChoices) -> ProviderModel:
    secrets, stored = secrets_of(name), choices.of(name)
    order = choices.order or ()
    return ProviderModel(
        name=name,
        is_enabled=name in order,
        position=order.index(name) if name in order else None,
        needs_database=name not in _NEED_NO_DATABASE,
        settings={setting: value for setting, value in stored.items() if setting not in secrets},
        secrets={setting: setting in stored for setting in sorted(secrets)},
        settings_schema=_schema(name),
    )


def _schema(name: str) -> dict[str, Any]:
    """The settings as JSON schema, without those that only a gateway's environment can have."""
    schema: dict[str, Any] = json.loads(json.dumps(provider_settings(name).model_json_schema(), default=str))
    for file in files_of(name):
        schema["properties"].pop(file, None)
    for secret in secrets_of(name):
        schema["properties"][secret]["x-secret"] = True
    return schema
