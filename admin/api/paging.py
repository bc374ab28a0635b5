"""Pages: how a long list is asked for, and answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

T = TypeVar("T")

Search = Annotated[str, Query(description="Only what holds this text, whatever its case.", max_length=1000)]
SearchOrPattern = Annotated[
    str,
    Query(
        description="Only what holds this text, whatever its case; with `*` or `?`, what is as a whole as this says.",
        max_length=1000,
    ),
]
Offset = Annotated[int, Query(ge=0, description="How many to leave out at the beginning.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]


class Page(BaseModel, Generic[T]):
    """A part of a list."""

    total: int
    """How many there are on all pages."""
    items: list[T]


def page(found: Sequence[T], offset: int, limit: int) -> Page[T]:
    """One page of all that was found."""
    return Page(total=len(found), items=list(found[offset : offset + limit]))
