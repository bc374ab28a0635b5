"""A gateway's publishes of wills, with an owner and a pulse that the test plays."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from contracts.session_event import WillBegun
from edge.gateway.connection import Connection
from edge.gateway.sessions.will_publishing import WillPublishing
from edge.mqtt.packets import Publish

WILL = Publish("t", b"gone", 1)


class Stage:
    """What surrounds it."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.durable: list[Callable[..., None]] = []
        self.has_stood_still = False
        self.client = SimpleNamespace(
            client_id="id", seat=SimpleNamespace(id="c1"), is_given_up=False, is_will_left=False
        )
        self.wills = WillPublishing(self.tell, lambda *_: self.happened.append("submitted"), self.check)

    def tell(self, client_id: str, event: Any, durable: Callable[..., None] | None) -> None:
        assert client_id == "id"
        assert isinstance(event, WillBegun)
        assert event.connection == "c1"
        assert durable is not None
        self.happened.append("told")
        self.durable.append(durable)

    def check(self) -> None:
        self.client.is_given_up |= self.has_stood_still

    def publish(self) -> None:
        """A will's time has come."""
        client = cast(Connection, self.client)
        self.wills.publish(client, WILL, lambda: self.happened.append("called back"))


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_the_owner_knows_before_the_will_is_on_its_way(stage: Stage) -> None:
    stage.publish()
    assert stage.happened == ["told"]
    stage.durable[0](None, None)
    assert stage.happened == ["told", "submitted", "called back"]
    assert not stage.client.is_will_left


def test_who_has_stood_still_leaves_the_will(stage: Stage) -> None:
    stage.has_stood_still = True
    stage.publish()
    assert stage.happened == ["called back"]
    assert stage.client.is_will_left


def test_who_has_stood_still_meanwhile_leaves_the_will(stage: Stage) -> None:
    stage.publish()
    stage.has_stood_still = True
    stage.durable[0](None, None)
    assert stage.happened == ["told", "called back"]
    assert stage.client.is_will_left
