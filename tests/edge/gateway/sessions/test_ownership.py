"""The owner's state machine: what follows from what, case by case."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contracts.session_event import (
    NEVER,
    ConnectionEnded,
    ConnectRequested,
    DisconnectWanted,
    ExchangeBegun,
    ExchangeConfirmed,
    ExchangeReleased,
    Granted,
    InboundExchange,
    Refused,
    SessionEvent,
    Subscribed,
    Subscription,
    Unsubscribed,
)
from contracts.session_record import decode_key
from edge.gateway.sessions.effects import Answer, Clear, Disconnect, Effect, Store, Unsubscribe
from edge.gateway.sessions.ownership import Ownership

ID = "id"


def connect(
    connection: str, node: str = "gw1", expiry: int = 0, clean: bool = False, boot: str = ""
) -> SessionEvent:
    """A connect of the only life of a node, unless told otherwise."""
    return ConnectRequested(node, boot or f"{node}-boot", connection, clean, expiry, 5, "DEVICE", 0)


def ended(
    connection: str, node: str = "gw1", expiry: int | None = None, at_ms: int = 0, will_delay: int = 0
) -> SessionEvent:
    """An end at a time."""
    return ConnectionEnded(node, f"{node}-boot", connection, expiry, at_ms, will_delay)


def subscribed(connection: str, *filters: str) -> SessionEvent:
    """Subscriptions at QoS 1."""
    return Subscribed("gw1", connection, tuple(Subscription(filter, 1) for filter in filters))


def said(effects: Sequence[Effect]) -> list[str]:
    """What effects tell gateways and other topics, in short."""
    words = []
    for effect in effects:
        if isinstance(effect, Answer) and isinstance(effect.answer, Granted):
            present = " present" if effect.answer.session_present else ""
            words.append(f"grant {effect.answer.connection}@{effect.node}{present}")
        elif isinstance(effect, Answer) and isinstance(effect.answer, Refused):
            words.append(f"refuse {effect.answer.connection}@{effect.node}")
        elif isinstance(effect, Disconnect):
            words.append(f"disconnect {effect.wanted.connection}@{effect.node}")
        elif isinstance(effect, Unsubscribe):
            words.append(f"unsubscribe {effect.filter}")
        elif isinstance(effect, Clear):
            words.append("clear")
    return words


def run(*events: SessionEvent, now_ms: int = 0) -> tuple[Ownership, list[str]]:
    """Apply events; returns what the last one had to say."""
    ownership = Ownership()
    effects: list[Effect] = []
    for event in events:
        effects = ownership.apply(ID, event, now_ms)
    return ownership, said(effects)


CASES: dict[str, tuple[list[SessionEvent], list[str]]] = {
    "nobody is there": ([connect("a")], ["grant a@gw1"]),
    "a session that ended with its connection": (
        [connect("a"), ended("a"), connect("b", expiry=60)],
        ["grant b@gw1"],
    ),
    "a session that goes on": (
        [connect("a", expiry=60), ended("a"), connect("b")],
        ["grant b@gw1 present"],
    ),
    "a clean start": (
        [connect("a", expiry=60), subscribed("a", "f"), ended("a"), connect("b", clean=True)],
        ["unsubscribe f", "clear", "grant b@gw1"],
    ),
    "DISCONNECT changed the expiry to 0": (
        [connect("a", expiry=60), ended("a", expiry=0), connect("b")],
        ["grant b@gw1"],
    ),
    "taking over": ([connect("a"), connect("b", "gw2")], ["disconnect a@gw1"]),
    "taken over": ([connect("a"), connect("b", "gw2"), ended("a")], ["grant b@gw2"]),
    "taken over, session goes on": (
        [connect("a", expiry=60), connect("b", "gw2"), ended("a")],
        ["grant b@gw2 present"],
    ),
    "M27: a session that dies with its connection is not handed over": (
        [connect("a"), connect("b", "gw2", expiry=60), ended("a", expiry=0)],
        ["grant b@gw2"],
    ),
    "a third one": (
        [connect("a"), connect("b", "gw2"), connect("c", "gw3")],
        ["disconnect a@gw1", "refuse b@gw2"],
    ),
    "the third one is let in": (
        [connect("a"), connect("b", "gw2"), connect("c", "gw3"), ended("a")],
        ["grant c@gw3"],
    ),
    "who waited has gone": ([connect("a"), connect("b", "gw2"), ended("b", "gw2"), ended("a")], []),
    "the end of a connection that is not the present one": ([connect("a"), ended("x")], []),
    "the end of one that was": ([connect("a", expiry=9), ended("a"), connect("b"), ended("a")], []),
    "the gateway came back under another boot": (
        [connect("a", boot="1"), connect("b", boot="2")],
        ["disconnect a@gw1", "grant b@gw1"],
    ),
    "a will waits": ([connect("a", expiry=60), ended("a", will_delay=5)], []),
    "a will waits, and the client comes back": (
        [connect("a", expiry=60), ended("a", will_delay=5), connect("b", "gw2")],
        ["disconnect a@gw1"],
    ),
    "the will that waited is settled": (
        [connect("a", expiry=60), ended("a", will_delay=5), connect("b", "gw2"), ended("a")],
        ["grant b@gw2 present"],
    ),
    "a will's delay without a session that it could wait in": (
        [connect("a"), connect("b"), ended("a", will_delay=5)],
        ["grant b@gw1"],
    ),
}


@pytest.mark.parametrize(("events", "expected"), CASES.values(), ids=CASES)
def test_what_follows(events: list[SessionEvent], expected: list[str]) -> None:
    assert run(*events)[1] == expected


@pytest.mark.parametrize(
    ("clean", "expiry", "ends"), [(False, 60, False), (True, 60, True), (False, 0, True)]
)
def test_who_is_taken_over_is_told_whether_the_session_ends(clean: bool, expiry: int, ends: bool) -> None:
    ownership, _ = run(connect("a", expiry=expiry))
    effects = ownership.apply(ID, connect("b", "gw2", clean=clean), 0)
    assert Disconnect("gw1", DisconnectWanted(ID, "a", ends)) in effects


def test_subscriptions_and_exchanges_come_with_the_grant() -> None:
    ownership, _ = run(
        connect("a", expiry=60),
        subscribed("a", "x", "y", "z"),
        subscribed("other", "w"),
        Unsubscribed("gw1", "a", ("y", "never")),
        ExchangeBegun("a", 1, 2, 3),
        ExchangeBegun("a", 2, 2, 3),
        ExchangeConfirmed("a", 2),
        ExchangeConfirmed("a", 9),
        ExchangeBegun("a", 3, 2, 3),
        ExchangeReleased("a", 3),
        ended("a"),
    )
    [*_, answer] = ownership.apply(ID, connect("b", "gw2", expiry=60), 0)
    assert answer == Answer(
        "gw2",
        ID,
        Granted(
            ID,
            "b",
            True,
            60,
            (Subscription("x", 1), Subscription("z", 1)),
            (InboundExchange(1, "begun", 2, 3), InboundExchange(2, "confirmed", 2, 3)),
            moved=True,
        ),
    )


def test_a_session_expires_by_itself_and_once() -> None:
    ownership, _ = run(connect("a", expiry=60), subscribed("a", "f"), ended("a", at_ms=1_000))
    assert ownership.next_deadline_ms == 61_000
    assert ownership.expire(60_999) == []
    assert said(ownership.expire(61_000)) == ["unsubscribe f", "clear"]
    assert len(ownership) == 0
    assert not ownership.next_deadline_ms


def test_a_session_that_is_overdue_is_not_resumed() -> None:
    ownership, _ = run(connect("a", expiry=60), ended("a", at_ms=1_000))
    assert said(ownership.apply(ID, connect("b"), 61_000)) == ["clear", "grant b@gw1"]


def test_a_session_that_was_resumed_does_not_expire() -> None:
    ownership, _ = run(connect("a", expiry=60), ended("a", at_ms=1_000), connect("b", expiry=60))
    assert ownership.expire(1_000_000) == []
    assert len(ownership) == 1


def test_never_means_never() -> None:
    ownership, _ = run(connect("a", expiry=NEVER), ended("a"))
    assert ownership.next_deadline_ms is None


def test_expiring_is_done_in_portions() -> None:
    ownership = Ownership()
    for number in range(10):
        ownership.apply(str(number), connect(f"c{number}", expiry=1), 0)
        ownership.apply(str(number), ended(f"c{number}"), 0)
    ownership.expire(5_000, most=7)
    assert len(ownership) == 3


def test_a_lost_gateway_frees_whom_it_held_and_forgets_who_waited_there() -> None:
    ownership = Ownership()
    ownership.apply("one", connect("a", expiry=60), 0)
    ownership.apply("one", connect("b", "gw2"), 0)
    ownership.apply("two", connect("c", "gw2"), 0)
    ownership.apply("two", connect("d"), 0)
    ownership.apply("three", connect("e"), 0)
    assert ownership.processes == {("gw1", "gw1-boot"), ("gw2", "gw2-boot")}
    effects = ownership.lose(("gw1", "gw1-boot"), 5_000)
    # By client id: one, three; `d`, which waited for the client two, is forgotten.
    assert said(effects) == ["disconnect a@gw1", "grant b@gw2 present", "disconnect e@gw1"]
    assert ownership.processes == {("gw2", "gw2-boot")}
    assert said(ownership.apply("two", ended("c", "gw2"), 0)) == []
    assert not ownership.is_waiting
    assert ownership.session("two") is ownership.session("three") is None


def test_a_lost_gateways_session_expires_from_its_loss_on() -> None:
    ownership, _ = run(connect("a", expiry=60))
    ownership.lose(("gw1", "gw1-boot"), 5_000)
    assert ownership.next_deadline_ms == 65_000


def test_stored_effects_are_the_state() -> None:
    """What a successor restores from the records goes on as the owner would have."""
    stored: dict[bytes, object] = {}
    ownership = Ownership()
    for client, events in (
        (
            "one",
            [connect("a", expiry=60), subscribed("a", "x"), ExchangeBegun("a", 1, 0, 0), connect("b", "gw2")],
        ),
        ("two", [connect("c", expiry=9), subscribed("c", "y"), ended("c")]),
        (
            "three",
            [connect("d", expiry=9), subscribed("d", "z"), ended("d"), connect("e", clean=True), ended("e")],
        ),
    ):
        for event in events:
            for effect in ownership.apply(client, event, 0):
                if isinstance(effect, Store):
                    stored[effect.key] = effect.record
    successor = Ownership()
    for key, record in stored.items():
        successor.restore(*decode_key(key), record)  # type: ignore[arg-type]
    assert len(successor) == len(ownership) == 2
    assert successor.processes == ownership.processes
    assert successor.next_deadline_ms == ownership.next_deadline_ms == 9_000
    assert successor.apply("one", ended("a"), 0) == ownership.apply("one", ended("a"), 0)
