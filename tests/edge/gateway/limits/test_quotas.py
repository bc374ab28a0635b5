"""Quotas, as an owner decides them: who has a session may come back, who has none waits for room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.session_census import Census, decode, encode
from contracts.session_event import (
    APPLICATION,
    DEVICE,
    ConnectionEnded,
    ConnectRequested,
    Granted,
    Refused,
)
from edge.gateway.limits.quotas import Quotas
from edge.gateway.sessions.effects import Answer
from edge.gateway.sessions.ownership import Ownership


class Setting:
    """One partition, and what others own."""

    def __init__(self, sessions: int = 0, applications: int = 0) -> None:
        self.quotas = Quotas(sessions, applications)
        self.ownership = Ownership(quotas=self.quotas)
        self.quotas.here = lambda: self.ownership.census
        self.number = 0

    def connect(
        self, client_id: str, expiry: int = 60, type: str = DEVICE, clean: bool = False
    ) -> int | None:
        """The reason code of a refusal; None for a grant, -1 while somebody else has to go first."""
        self.number += 1
        event = ConnectRequested("gw1", "boot", f"c{self.number}", clean, expiry, 5, type, 0)
        effects = self.ownership.apply(client_id, event, 0)
        answers = [effect.answer for effect in effects if isinstance(effect, Answer)]
        own = [answer for answer in answers if answer.connection == event.connection]
        if not own:
            return -1
        return own[0].reason_code if isinstance(own[0], Refused) else None

    def end(self, client_id: str) -> list[object]:
        """Its connection ends; returns what others are told."""
        session = self.ownership.session(client_id)
        assert session is not None
        ended = ConnectionEnded("gw1", "boot", session.connection, None, 0)
        effects = self.ownership.apply(client_id, ended, 0)
        return [effect.answer for effect in effects if isinstance(effect, Answer)]


def test_who_has_a_session_may_come_back_and_others_wait_for_room() -> None:
    setting = Setting(sessions=3)
    setting.quotas.elsewhere = Census(1)
    assert [setting.connect(client) for client in ("a", "b", "c")] == [None, None, 0x97]
    assert setting.ownership.census == Census(2)
    setting.end("a")
    assert setting.connect("c") == 0x97  # it is offline, and there
    assert setting.connect("a") is None
    assert setting.connect("a", clean=True) == -1  # a takeover
    [granted] = setting.end("a")
    assert isinstance(granted, Granted)
    setting.ownership.apply("b", ConnectionEnded("gw1", "boot", "c2", 0, 0), 0)
    assert setting.connect("c") is None
    setting.quotas.elsewhere = Census(0)
    assert setting.connect("d", expiry=0) is None
    assert setting.connect("e", expiry=0) == 0x97
    setting.end("d")
    assert setting.connect("e", expiry=0) is None


def test_applications_have_a_quota_of_their_own() -> None:
    setting = Setting(applications=1)
    assert setting.connect("a", type=APPLICATION) is None
    assert setting.connect("b", type=APPLICATION) == 0x97
    assert setting.connect("b", type=APPLICATION, expiry=0) is None  # costs no Kafka topic
    assert setting.connect("c") is None
    setting.end("c")
    assert setting.connect("c", type=APPLICATION) == 0x97  # a DEVICE until now
    assert setting.connect("c") is None  # and it has not lost its session by that
    setting.end("a")
    assert setting.connect("a", type=APPLICATION) is None
    setting.end("a")
    assert setting.connect("a") is None  # a DEVICE from now on
    assert setting.ownership.census == Census(3, 0)
    setting.end("c")
    assert setting.connect("c", type=APPLICATION) is None


def test_a_successor_counts_the_same() -> None:
    setting = Setting()
    setting.connect("a", type=APPLICATION)
    setting.connect("b")
    setting.connect("c", expiry=0)
    successor = Ownership()
    for client in "abc":
        successor.restore(client, None, setting.ownership.session(client))
    assert successor.census == setting.ownership.census == Census(3, 1)
    session = setting.ownership.session("a")
    assert session is not None
    successor.restore("a", None, replace(session, client_type=DEVICE))
    assert successor.census == Census(3, 0)
    successor.restore("b", None, None)
    assert successor.census == Census(2, 0)


def test_what_stands_beside_the_offset() -> None:
    census = Census(12, 3)
    assert encode(census) == "sessions=12 applications=3"
    assert decode(encode(census)) == census


@pytest.mark.parametrize(
    "metadata",
    ["", "sessions=1", f"sessions={'9' * 5_000} applications=0", "sessions=-1 applications=0", "x" * 4_096],
)
def test_what_others_wrote_there_tells_of_none(metadata: str) -> None:
    assert decode(metadata) == Census()
