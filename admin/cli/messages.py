"""`sluicemq messages`: look into the message store, which sinks/messages writes."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column, Table
from rich.text import Text

from admin.cli.cells import plain, point_in_time
from admin.cli.console import out
from admin.errors import AdminError, UsageError

if TYPE_CHECKING:  # imported when a database is opened: no other command waits for these libraries
    from stores.messages import FoundMessage, MessageRange

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SHOWN = 80
"""Characters of a payload in a table."""


def messages(
    filter: Annotated[
        str, typer.Argument(help="A topic, or a filter with + and #.", metavar="FILTER", show_default=False)
    ],
    database: Annotated[
        str,
        typer.Option(
            envvar="SLUICEMQ_MESSAGE_STORE",
            help="The store's URL; with a password, better in the environment.",
            show_default=False,
        ),
    ],
    from_offset: Annotated[
        int | None, typer.Option(min=1, help="The first offset, of each topic.", show_default=False)
    ] = None,
    to_offset: Annotated[
        int | None, typer.Option(min=1, help="The first offset that is not wanted.", show_default=False)
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from", help="A time (ISO 8601, UTC), or how long ago: 90s, 30m, 12h, 7d.", show_default=False
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", help="The same, exclusive.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many messages at most.")] = 100,
    newest: Annotated[bool, typer.Option("--newest", help="The newest of them, not the oldest.")] = False,
) -> None:
    """List stored messages: of a topic by their offsets, of a filter by time."""
    from stores.messages import MessageRange

    wanted = MessageRange(
        filter, from_offset, to_offset, _point(since, "--from"), _point(until, "--to"), limit, newest
    )
    table = Table(
        Column("topic", overflow="fold"), Column("offset", justify="right"), "time", Column("QoS", justify="right"),
        "publisher", Column("payload", overflow="fold"),
    )  # fmt: skip
    for message in _found(database, wanted):
        table.add_row(
            plain(message.topic), str(message.offset), point_in_time(message.at_ms), str(message.qos),
            plain(message.client_id), _payload(message.payload),
        )  # fmt: skip
    out.print(table)


def _found(url: str, wanted: MessageRange) -> list[FoundMessage]:
    from contracts.errors import TopicError
    from stores import StoreError, StoreUrlError
    from stores.messages import MessageStore

    try:
        store = MessageStore(url)
        try:
            return store.find(wanted)
        finally:
            store.close()
    except (StoreUrlError, TopicError) as error:
        raise UsageError(f"{error}.") from error
    except StoreError as error:
        raise AdminError(f"{error}.") from error


def _point(given: str | None, option: str) -> int | None:
    """A time that was given, in ms since 1970."""
    if given is None:
        return None
    if ago := re.fullmatch(r"(\d{1,9})([smhd])", given):
        return int((time.time() - int(ago[1]) * _UNITS[ago[2]]) * 1_000)
    try:
        point = datetime.fromisoformat(given)
    except ValueError:
        raise UsageError(
            f"{option} {given!r} is no time: write 2030-12-31T18:00, or how long ago, as 90s, 30m, 12h or 7d."
        ) from None
    return int(point.replace(tzinfo=point.tzinfo or UTC).timestamp() * 1_000)


def _payload(payload: bytes) -> Text:
    """As text where it is text, else in hexadecimal digits; cut where it is long."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        shown, is_whole = payload[: _SHOWN // 3].hex(" "), len(payload) <= _SHOWN // 3
    else:
        shown, is_whole = text[:_SHOWN], len(text) <= _SHOWN
    return plain(shown) if is_whole else plain(shown).append(f" … ({len(payload)} bytes)", style="dim")
