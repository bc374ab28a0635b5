"""What a session needs before its client is let in: its exchanges settled, its subscriptions leading here."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from contracts.session_event import APPLICATION, DEVICE, Granted
from edge.gateway.kept_sessions import KeptSessions
from edge.mqtt.limits import ServerLimits
from edge.mqtt.states import State

GRANTED = Granted("c", "seat", session_present=True, expiry=60, moved=True)


class House:
    """One connection, whose surroundings finish what they are asked for when the test says so."""

    def __init__(self, client_type: str = DEVICE, *, is_persistent: bool = True) -> None:
        self.done: list[str] = []
        self.waiting: list[Callable[[], None]] = []
        feeding = SimpleNamespace(resume=self._resume, attach=lambda *_: self.done.append("attached"))
        parts: Any = {
            "subscribing": SimpleNamespace(resume=self._serve), "persistence": feeding, "applications": feeding,
            "returning": None, "limits": ServerLimits(),
        }  # fmt: skip
        connection: Any = SimpleNamespace(
            core=SimpleNamespace(state=State.AWAITING_ACCEPT), is_kept=False,
            seat=SimpleNamespace(client_type=client_type, is_persistent=is_persistent),
        )  # fmt: skip
        kept = KeptSessions(**parts)
        self.connection = connection
        kept.resume(connection, GRANTED, lambda _flows: self.done.append("let in"))

    def make_ready(self) -> None:
        """What is to be looked up of the session is found."""
        for _ in range(2 if self.connection.seat.client_type == APPLICATION else 1):
            self.finish()

    def finish(self) -> None:
        """What was asked for last is done."""
        self.waiting.pop()()

    def _serve(self, _connection: object, _granted: Granted, done: Callable[[], None]) -> None:
        self.done.append("served")
        self.waiting.append(done)

    def _resume(self, *args: Any) -> None:
        ready = args[-1]
        self.waiting.append(lambda: ready(GRANTED))


@pytest.mark.parametrize("client_type", [DEVICE, APPLICATION])
def test_a_client_is_let_in_when_its_subscriptions_lead_here(client_type: str) -> None:
    """And is fed from then on: what is fed to who is not in yet would never be sent."""
    house = House(client_type)
    house.make_ready()
    assert house.done == ["served"]
    assert house.connection.is_kept
    house.finish()
    assert house.done == ["served", "attached", "let in"]


def test_so_is_who_lets_its_session_end() -> None:
    house = House(is_persistent=False)
    assert house.done == ["served"]
    assert not house.connection.is_kept
    house.finish()
    assert house.done == ["served", "let in"]


@pytest.mark.parametrize("client_type", [DEVICE, APPLICATION])
def test_who_has_gone_meanwhile_is_not_served(client_type: str) -> None:
    house = House(client_type)
    house.connection.core.state = State.CLOSED
    house.make_ready()
    assert house.done == []


@pytest.mark.parametrize("client_type", [DEVICE, APPLICATION])
def test_who_goes_while_its_subscriptions_come_here_is_not_fed(client_type: str) -> None:
    house = House(client_type)
    house.make_ready()
    house.connection.core.state = State.CLOSED
    house.finish()
    assert house.done == ["served"]
