"""What is done to a client, from the list and from its page: always asked first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from admin.console.dialogs import confirm
from admin.console.view import View

Done = Callable[[], Awaitable[None]]


def disconnect(view: View, client_id: str, done: Done) -> None:
    """Disconnect a client."""

    async def act() -> None:
        await view.calls.send("POST", "/client/disconnect", client_id=client_id)
        ui.notify(f"{client_id} is disconnected.", type="positive")
        await done()

    consequence = (
        "Its session stays if it outlives its connection. It may connect again: block it to keep it out."
    )
    confirm(f"Disconnect {client_id}?", consequence, "Disconnect", act)


def clear_session(view: View, client_id: str, done: Done) -> None:
    """Remove a session."""

    async def act() -> None:
        await view.calls.send("DELETE", "/client", client_id=client_id)
        ui.notify(f"The session of {client_id} is cleared.", type="positive")
        await done()

    confirm(
        f"Clear the session of {client_id}?",
        "It is disconnected, and its subscriptions and all messages that wait for it are lost.",
        "Clear",
        act,
    )
