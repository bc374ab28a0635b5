"""Credentials of MQTT clients, and what they allow."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Body
from pydantic import BaseModel

from admin.api.caller import Operator, Parts, Viewer
from admin.api.credentials_models import CredentialsModel, GivenBasic, GivenCredentials, RulesModel
from admin.api.paging import Limit, Offset, Page, Search, page
from identity.credentials_file import read_credentials
from identity.errors import InvalidError
from identity.rules import Permissions

router = APIRouter(tags=["credentials"])


class Imported(BaseModel):
    """What an import has done."""

    added: int
    replaced: int


class AuthorizationQuestion(BaseModel):
    """May a client with these credentials do this?"""

    credentials: str
    """Their name."""
    client_id: str
    username: str | None = None
    """The user name that it proves; left out, that of the credentials."""
    action: Literal["publish", "subscribe"]
    topic: str
    """The topic; for subscribe, the filter."""


class AuthorizationAnswer(BaseModel):
    """Whether it may, and by which rule."""

    allowed: bool
    rule: str | None
    """The pattern that allows it, as it is written; null where none does."""


@router.get("/credentials")
def list_credentials(
    _: Viewer, parts: Parts, search: Search = "", offset: Offset = 0, limit: Limit = 100
) -> Page[CredentialsModel]:
    """List credentials, by name."""
    listed = [CredentialsModel.of(one) for one in parts.credentials.list()]
    return page([one for one in listed if one.holds(search)] if search else listed, offset, limit)


@router.post("/credentials", status_code=HTTPStatus.CREATED)
def add_credentials(given: GivenCredentials, _: Operator, parts: Parts) -> CredentialsModel:
    """Add credentials."""
    if isinstance(given, GivenBasic) and given.password is None and not given.no_password:
        raise InvalidError("give a password, or say `no_password` to let in whoever gives these names")
    return CredentialsModel.of(parts.credentials.add(given.credentials()))


@router.post("/credentials/import")
def import_credentials(
    file: Annotated[str, Body(media_type="text/csv")],
    _: Operator,
    parts: Parts,
    allow_no_password: bool = False,
) -> Imported:
    """Add all credentials of a CSV file, or none; those whose name is there already are replaced."""
    added, replaced = parts.credentials.put(
        read_credentials(file.splitlines(keepends=True)), allow_no_password=allow_no_password
    )
    return Imported(added=added, replaced=replaced)


@router.get("/credentials/{name}")
def show_credentials(name: str, _: Viewer, parts: Parts) -> CredentialsModel:
    """Show credentials."""
    return CredentialsModel.of(parts.credentials.get(name))


@router.put("/credentials/{name}")
def put_credentials(name: str, given: GivenCredentials, _: Operator, parts: Parts) -> CredentialsModel:
    """Replace credentials, or add them; connected clients have the new rules within a second or two."""
    if given.name != name:
        raise InvalidError(
            f"the name in the body is {given.name!r}: it must be that of the address, {name!r}"
        )
    allow_no_password = isinstance(given, GivenBasic) and given.no_password
    parts.credentials.put([given.credentials()], allow_no_password=allow_no_password)
    return CredentialsModel.of(parts.credentials.get(name))


@router.put("/credentials/{name}/rules")
def put_rules(name: str, given: RulesModel, _: Operator, parts: Parts) -> CredentialsModel:
    """Replace the rules of credentials; connected clients have them within a second or two."""
    changed = parts.credentials.change_rules({name: lambda _: given.rules()})
    return CredentialsModel.of(changed[name])


@router.delete("/credentials/{name}", status_code=HTTPStatus.NO_CONTENT)
def remove_credentials(name: str, _: Operator, parts: Parts) -> None:
    """Remove credentials."""
    parts.credentials.remove(name)


@router.post("/authorization-test")
def try_authorization(asked: AuthorizationQuestion, _: Viewer, parts: Parts) -> AuthorizationAnswer:
    """Tell whether a client may publish or subscribe, and by which rule."""
    model = CredentialsModel.of(stored := parts.credentials.get(asked.credentials))
    proven = asked.username if asked.username is not None else model.username or model.common_name
    permissions = Permissions(stored.rules, asked.client_id, proven)
    ask = permissions.publish if asked.action == "publish" else permissions.subscribe
    rule = ask(asked.topic)
    return AuthorizationAnswer(allowed=rule is not None, rule=rule)
