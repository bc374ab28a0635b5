"""Users of the administration, and their programs' tokens."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, SecretStr

from admin.api.caller import Administrator, Parts, Viewer
from admin.api.problems import ProblemError
from identity.logins import Login
from identity.roles import Role
from identity.users import User

LONGEST_DAYS = 3_650

router = APIRouter(tags=["users"])


class UserModel(BaseModel):
    """A user."""

    name: str
    role: Role
    created_at_ms: int
    """Since 1970."""

    @classmethod
    def of(cls, user: User) -> UserModel:
        """Of a user of the database."""
        return cls(name=user.name, role=user.role, created_at_ms=user.created_at_ms)


class NewUser(BaseModel):
    """A user to be added."""

    name: str
    role: Role
    password: SecretStr


class UserChange(BaseModel):
    """What is to be changed; what is left out stays."""

    role: Role | None = None
    password: SecretStr | None = None


class PasswordChange(BaseModel):
    """One's own password."""

    old: SecretStr
    new: SecretStr


class TokenModel(BaseModel):
    """A program's token, without the token itself."""

    user: str
    name: str
    created_at_ms: int
    expires_at_ms: int

    @classmethod
    def of(cls, login: Login) -> TokenModel:
        """Of one of the database."""
        return cls(
            user=login.user,
            name=login.name or "",
            created_at_ms=login.created_at_ms,
            expires_at_ms=login.expires_at_ms,
        )


class NewToken(BaseModel):
    """A token to be made."""

    name: str
    days: Annotated[int, Field(ge=1, le=LONGEST_DAYS)] = 90


class MadeToken(BaseModel):
    """A token, which is shown this once."""

    name: str
    token: str


@router.get("/users")
def list_users(_: Administrator, parts: Parts) -> list[UserModel]:
    """List all users."""
    return [UserModel.of(user) for user in parts.users.list()]


@router.post("/users", status_code=HTTPStatus.CREATED)
def add_user(given: NewUser, _: Administrator, parts: Parts) -> UserModel:
    """Add a user."""
    return UserModel.of(parts.users.add(given.name, given.password.get_secret_value(), given.role))


@router.patch("/users/{name}", status_code=HTTPStatus.NO_CONTENT)
def change_user(name: str, given: UserChange, _: Administrator, parts: Parts) -> None:
    """Give a user another role or password; with another password it is logged out."""
    if given.role is not None:
        parts.users.set_role(name, given.role)
    if given.password is not None:
        parts.users.set_password(name, given.password.get_secret_value())


@router.delete("/users/{name}", status_code=HTTPStatus.NO_CONTENT)
def remove_user(name: str, _: Administrator, parts: Parts) -> None:
    """Remove a user, its sessions and its tokens."""
    parts.users.remove(name)


@router.put("/password", status_code=HTTPStatus.NO_CONTENT)
def change_own_password(given: PasswordChange, caller: Viewer, parts: Parts) -> None:
    """Change one's own password; one is logged out everywhere."""
    if caller.login.name is not None:
        raise ProblemError(HTTPStatus.FORBIDDEN, "a token cannot change its user's password: log in")
    wait = parts.attempts.seconds_to_wait(caller.user, "")
    if wait:
        raise ProblemError(
            HTTPStatus.TOO_MANY_REQUESTS, f"there were too many wrong passwords: try again in {wait} s"
        )
    if parts.users.authenticate(caller.user, given.old.get_secret_value()) is None:
        parts.attempts.note_failure(caller.user, "")
        raise ProblemError(HTTPStatus.FORBIDDEN, "the old password is wrong")
    parts.users.set_password(caller.user, given.new.get_secret_value())


@router.get("/tokens")
def list_tokens(caller: Viewer, parts: Parts) -> list[TokenModel]:
    """List one's own programs' tokens; an administrator sees all."""
    whose = None if caller.login.role is Role.ADMINISTRATOR else caller.user
    return [TokenModel.of(login) for login in parts.logins.list_tokens(whose)]


@router.post("/tokens", status_code=HTTPStatus.CREATED)
def make_token(given: NewToken, caller: Viewer, parts: Parts) -> MadeToken:
    """Make a token for a program, with one's own role; it is shown this once."""
    if caller.login.name is not None:
        raise ProblemError(HTTPStatus.FORBIDDEN, "a token cannot make others: log in")
    return MadeToken(name=given.name, token=parts.logins.open(caller.user, given.days * 86_400, given.name))


@router.delete("/tokens/{user}/{name}", status_code=HTTPStatus.NO_CONTENT)
def remove_token(user: str, name: str, caller: Viewer, parts: Parts) -> None:
    """Make a program's token invalid: one's own, or as an administrator anybody's."""
    if user != caller.user and caller.login.role is not Role.ADMINISTRATOR:
        raise ProblemError(HTTPStatus.FORBIDDEN, "these are another user's tokens: ask an administrator")
    parts.logins.remove_token(user, name)
