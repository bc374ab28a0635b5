"""Clients that are kept out, and those that were turned away."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Query
from pydantic import BaseModel

from admin.api.caller import Operator, Parts, Viewer
from admin.api.paging import Limit, Offset, Page, Search, page
from identity.block_list import Block, Subject
from identity.errors import NotThereError

router = APIRouter(tags=["clients that are kept out"])


class BlockModel(BaseModel):
    """An entry of the list of blocked clients."""

    subject: Subject
    """By what a client is recognised."""
    value: str
    is_pattern: bool = False
    reason: str = ""
    """For people."""
    expires_at_ms: int | None = None
    """Since 1970; null: never."""

    @classmethod
    def of(cls, block: Block) -> BlockModel:
        """Of one of the database."""
        return cls(
            subject=block.subject,
            value=block.value,
            is_pattern=block.is_pattern,
            reason=block.reason,
            expires_at_ms=block.expires_at_ms,
        )

    def block(self) -> Block:
        """As the database takes it."""
        return Block(self.subject, self.value, self.is_pattern, self.reason, self.expires_at_ms)


class UnauthorizedModel(BaseModel):
    """A client that was turned away."""

    client_id: str
    address: str
    username: str | None
    reason: str
    at_ms: int
    """The last time, since 1970."""
    attempts: int


class Removed(BaseModel):
    """How many were removed."""

    removed: int


@router.get("/blocked")
def list_blocked(
    _: Viewer, parts: Parts, search: Search = "", offset: Offset = 0, limit: Limit = 100
) -> Page[BlockModel]:
    """List who is blocked; expired entries, too."""
    listed = [BlockModel.of(block) for block in parts.blocked.list()]
    sought = search.casefold()
    return page([one for one in listed if sought in f"{one.value}\n{one.reason}".casefold()], offset, limit)


@router.post("/blocked", status_code=HTTPStatus.CREATED)
def block(given: BlockModel, _: Operator, parts: Parts) -> BlockModel:
    """Keep a client out; one that is connected is disconnected within a second or two."""
    parts.blocked.put([given.block()])
    return BlockModel.of(given.block().checked())


@router.delete("/blocked", status_code=HTTPStatus.NO_CONTENT)
def unblock(_: Operator, parts: Parts, subject: Subject, value: str, is_pattern: bool = False) -> None:
    """Let a client in again."""
    parts.blocked.remove(Block(subject, value, is_pattern))


@router.get("/unauthorized")
def list_unauthorized(
    _: Viewer, parts: Parts, search: Search = "", offset: Offset = 0, limit: Limit = 100
) -> Page[UnauthorizedModel]:
    """List clients that were turned away lately, the newest first."""
    sought = search.casefold()
    listed = [
        UnauthorizedModel.model_validate(one, from_attributes=True) for one in parts.unauthorized.list()
    ]
    found = [one for one in listed if sought in f"{one.client_id}\n{one.username}\n{one.address}".casefold()]
    return page(found, offset, limit)


@router.delete("/unauthorized")
def forget_unauthorized(
    _: Operator, parts: Parts, client_id: str | None = Query(None, description="Whom; left out: all.")
) -> Removed:
    """Take clients off that list."""
    if client_id is None:
        return Removed(removed=parts.unauthorized.clear())
    if not parts.unauthorized.remove(client_id):
        raise NotThereError(f"{client_id!r} is not on the list")
    return Removed(removed=1)
