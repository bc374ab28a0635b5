"""What owners make of an administrator's commands, case by case."""

from __future__ import annotations

import pytest

from contracts.command_answer import DONE, CommandAnswer
from contracts.session_event import (
    ADMINISTRATIVE_ACTION,
    CHANGE,
    CLEAR,
    DISCONNECT,
    SESSION_TAKEN_OVER,
    ChangeWanted,
    CommandGiven,
    SessionEvent,
    Subscription,
)
from edge.gateway.sessions.effects import Answer, Disconnect, Effect, Reply, Store, Subscribe, Unsubscribe
from edge.gateway.sessions.ownership import Ownership
from tests.edge.gateway.sessions.test_ownership import (
    ID,
    app,
    connect,
    ended,
    left,
    run,
    subscribed,
    willing,
)

END, CLEARING = CommandGiven("k", DISCONNECT), CommandGiven("k", CLEAR)
CHANGING = CommandGiven("k", CHANGE, (Subscription("n", 1, floors=(7,)),), ("f",))

CASES: dict[str, tuple[list[SessionEvent], list[str]]] = {
    "nobody is there": ([END], ["no_session ()"]),
    "to clear nobody": ([CLEARING], ["no_session ()"]),
    "to change nobody": ([CHANGING], ["no_session ()"]),
    "one that has ended": ([connect("a"), ended("a"), END], ["no_session ()"]),
    "one that is there": ([connect("a"), END], ["disconnect a@gw1", "done ()"]),
    "one that is away": ([connect("a", expiry=60), ended("a"), END], ["not_connected ()"]),
    "one whose will waits": (
        [connect("a", expiry=60), ended("a", will_delay=5), END], ["not_connected ()"]
    ),
    "its session stays": (
        [connect("a", expiry=60), subscribed("a", "f"), END, ended("a"), connect("b")],
        ["grant b@gw1 present"],
    ),
    "a session that is away is cleared": (
        [connect("a", expiry=60), subscribed("a", "f"), ended("a"), CLEARING],
        ["unsubscribe f", "clear", "done ()"],
    ),
    "one that is there goes first": (
        [connect("a", expiry=60), subscribed("a", "f"), CLEARING], ["disconnect a@gw1", "done ()"]
    ),
    "and is cleared then, whatever it said of its expiry": (
        [connect("a", expiry=60), subscribed("a", "f"), CLEARING, ended("a", expiry=60)],
        ["unsubscribe f", "clear"],
    ),
    "who waits for it begins anew": (
        [connect("a", expiry=60), CLEARING, connect("b", "gw2", expiry=60), ended("a")],
        ["clear", "grant b@gw2"],
    ),
    "what follows is not cleared": (
        [connect("a", expiry=60), CLEARING, ended("a"), connect("b", expiry=60), ended("b"), connect("c")],
        ["grant c@gw1 present"],
    ),
    "a will that waits goes out when its session is cleared": (
        [willing("a", expiry=60, delay=5), CLEARING, left("a")], ["will of a", "clear"]
    ),
    "the same where the node had begun to wait": (
        [willing("a", expiry=60, delay=5), ended("a", will_delay=5), CLEARING, left("a")],
        ["will of a", "clear"],
    ),
    "an APPLICATION is cleared": (
        [app("a"), ended("a"), CLEARING], ["topic goes at 600000", "done ()"]
    ),
    "from a later version": ([connect("a"), CommandGiven("k", "promote")], []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    events, expected = CASES[case]
    _, told = run(*events)
    assert told == expected


def test_the_client_is_told_why() -> None:
    """Taking over and commanding are not the same to it."""
    for event, reason in ((END, ADMINISTRATIVE_ACTION), (connect("b"), SESSION_TAKEN_OVER)):
        owned = Ownership()
        owned.apply(ID, connect("a"), 0)
        [wanted] = [e.wanted for e in owned.apply(ID, event, 0) if isinstance(e, Disconnect)]
        assert wanted.reason_code == reason


def test_a_gateway_that_is_lost_keeps_no_session_from_being_cleared() -> None:
    owned = Ownership()
    owned.apply(ID, connect("a", expiry=60), 0)
    owned.apply(ID, CLEARING, 0)
    owned.lose(("gw1", "gw1-boot"), 0)
    assert owned.session(ID) is None


def test_one_that_is_there_is_changed_by_its_gateway() -> None:
    owned = Ownership()
    owned.apply(ID, connect("a", "gw2"), 0)
    wanted = ChangeWanted(ID, "a", "k", CHANGING.subscriptions, ("f",))
    assert owned.apply(ID, CHANGING, 0) == [Answer("gw2", ID, wanted)]


def away(event: SessionEvent, *filters: str) -> Ownership:
    owned = Ownership()
    owned.apply(ID, event, 0)
    owned.apply(ID, subscribed("a", *filters), 0)
    owned.apply(ID, ended("a"), 0)
    return owned


def outside(effects: list[Effect]) -> list[Effect]:
    """Without what it stores for itself."""
    return [effect for effect in effects if not isinstance(effect, Store)]


def test_one_that_is_away_is_changed_by_its_owner() -> None:
    owned = away(connect("a", expiry=60), "f")
    made = Subscription("n", 1, floors=(7,), by_administrator=True)
    assert outside(owned.apply(ID, CHANGING, 0)) == [
        Subscribe(ID, "gw1", made, "device"),
        Unsubscribe(ID, "f"),
        Reply(CommandAnswer("k", DONE, (1, 0x00))),
    ]
    assert owned.subscriptions(ID) == (made,)
    [*_, again] = owned.apply(ID, CHANGING, 0)
    assert again == Reply(CommandAnswer("k", DONE, (1, 0x11)))


def test_one_that_it_has_is_replaced_and_misses_nothing() -> None:
    """[MQTT-3.8.4-3]: what came since it subscribed is for it still."""
    owned = away(app("a"), "n")
    effects = outside(owned.apply(ID, CommandGiven("k", CHANGE, (Subscription("n", 2, floors=(7,)),)), 0))
    made = Subscription("n", 2, by_administrator=True)
    assert effects == [Subscribe(ID, "gw1", made, "app"), Reply(CommandAnswer("k", DONE, (2,)))]


def test_what_needs_a_gateway_is_refused() -> None:
    group, exclusive = Subscription("$share/g/t", 1), Subscription("$exclusive/t", 1)
    command = CommandGiven("k", CHANGE, (group, exclusive))
    assert outside(away(app("a")).apply(ID, command, 0)) == [Reply(CommandAnswer("k", DONE, (0x83, 0x8F)))]
    member, told = outside(away(connect("a", expiry=60)).apply(ID, command, 0))
    assert isinstance(member, Subscribe)
    assert told == Reply(CommandAnswer("k", DONE, (1, 0x8F)))
