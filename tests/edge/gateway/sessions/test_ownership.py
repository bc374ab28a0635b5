"""The owner's state machine: what follows from what, case by case."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contracts.application_progress import Progress
from contracts.session_event import (
    APPLICATION,
    DEVICE,
    NEVER,
    ApplicationProgress,
    ConnectionEnded,
    ConnectRequested,
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
    WillBegun,
)
from contracts.session_record import decode_key
from contracts.will_record import Will
from edge.gateway.sessions.effects import (
    Answer,
    Clear,
    Disconnect,
    Effect,
    PublishWill,
    Release,
    RemoveTopic,
    Reply,
    Store,
    StoreRemoval,
    Subscribe,
    Unsubscribe,
    without_superseded,
)
from edge.gateway.sessions.ownership import MOST_WILL_BYTES, Ownership

ID = "id"


def connect(
    connection: str,
    node: str = "gw1",
    expiry: int = 0,
    clean: bool = False,
    boot: str = "",
    type: str = DEVICE,
) -> SessionEvent:
    """A connect of the only life of a node, of a DEVICE, unless told otherwise."""
    return ConnectRequested(node, boot or f"{node}-boot", connection, clean, expiry, 5, type, 0)


def app(connection: str, node: str = "gw1", expiry: int = 60, clean: bool = False) -> SessionEvent:
    """A connect of an APPLICATION."""
    return connect(connection, node, expiry, clean, type=APPLICATION)


def ended(
    connection: str, node: str = "gw1", expiry: int | None = None, at_ms: int = 0, will_delay: int = 0
) -> SessionEvent:
    """An end at a time."""
    return ConnectionEnded(node, f"{node}-boot", connection, expiry, at_ms, will_delay)


def willing(
    connection: str, node: str = "gw1", expiry: int = 0, delay: int = 0, clean: bool = False, at_ms: int = 0
) -> SessionEvent:
    """A connect with a will."""
    will = Will("t", b"gone", (), delay)
    return ConnectRequested(node, f"{node}-boot", connection, clean, expiry, 5, DEVICE, at_ms, will=will)


def left(connection: str, node: str = "gw1", at_ms: int = 0) -> SessionEvent:
    """An end with a will that the node leaves to the owner."""
    return ConnectionEnded(node, f"{node}-boot", connection, None, at_ms, is_will_left=True)


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
        elif isinstance(effect, StoreRemoval):
            words.append("keep topic" if effect.due_at_ms is None else f"topic goes at {effect.due_at_ms}")
        elif isinstance(effect, RemoveTopic):
            words.append("remove topic")
        elif isinstance(effect, PublishWill):
            words.append(f"will of {effect.kept.connection}")
        elif isinstance(effect, Reply):
            words.append(f"{effect.answer.outcome} {effect.answer.reasons}")
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
    "a will, published by its node": ([willing("a"), ended("a")], []),
    "a will, left by its node": ([willing("a"), left("a")], ["will of a"]),
    "a will is left before who waits is let in": (
        [willing("a"), connect("b", "gw2"), left("a")],
        ["will of a", "grant b@gw2"],
    ),
    "a will is left by who was not there any more": ([willing("a"), ended("a"), left("a")], []),
    "a will that waits is left, and the session goes on [MQTT-3.1.3-9]": (
        [willing("a", expiry=60, delay=5), connect("b", "gw2"), left("a")],
        ["grant b@gw2 present"],
    ),
    "a will that waits is left, and the session ends": (
        [willing("a", expiry=60, delay=5), connect("b", "gw2", clean=True), left("a")],
        ["will of a", "clear", "grant b@gw2"],
    ),
    "a will that waits is left, and nobody comes after all": (
        [willing("a", expiry=60, delay=5), connect("b", "gw2"), ended("b", "gw2"), left("a")],
        [],
    ),
    "the third one begins anew, though the second would not have": (
        [willing("a", expiry=9, delay=5), connect("b", "gw2"), connect("c", "gw3", clean=True), left("a")],
        ["will of a", "clear", "grant c@gw3"],
    ),
    "another life of its node knows nothing of the will": (
        [willing("a"), connect("b", "gw2"), ConnectionEnded("gw1", "later", "a", None, 0)],
        ["will of a", "grant b@gw2"],
    ),
    "the node came back under another boot, and the will was its earlier life's": (
        [willing("a"), connect("b", boot="2")],
        ["disconnect a@gw1", "will of a", "grant b@gw1"],
    ),
    "who waited had a will, and has gone": (
        [connect("a"), willing("b", "gw2"), ended("b", "gw2"), ended("a")],
        [],
    ),
    "an application goes on": ([app("a"), ended("a"), app("b", "gw2")], ["grant b@gw2 present"]),
    "an application's clean start": (
        [app("a"), ended("a"), app("b", clean=True)],
        ["topic goes at 600000", "keep topic", "grant b@gw1"],
    ),
    "an application's clean start, and no session after": (
        [app("a"), ended("a"), app("b", expiry=0, clean=True)],
        ["topic goes at 600000", "grant b@gw1"],
    ),
    "an application of which nothing was kept": (
        [app("a", expiry=0), ended("a"), connect("b")],
        ["grant b@gw1"],
    ),
    "an application becomes a device": (
        [app("a"), subscribed("a", "f"), ended("a"), connect("b", expiry=60)],
        ["unsubscribe f", "topic goes at 600000", "grant b@gw1"],
    ),
    "and an application again": (
        [app("a"), ended("a"), connect("b", expiry=60), ended("b"), app("c")],
        ["clear", "keep topic", "grant c@gw1"],
    ),
    "a device becomes an application": (
        [connect("a", expiry=60), subscribed("a", "f"), ended("a"), app("b")],
        ["unsubscribe f", "clear", "grant b@gw1"],
    ),
    "an application is taken over by a device": (
        [app("a"), connect("b", "gw2", expiry=60), ended("a")],
        ["topic goes at 600000", "grant b@gw2"],
    ),
}


@pytest.mark.mqtt(
    v3="3.1.2-4 3.1.2-6 3.1.4-3 3.2.2-1 3.2.2-2 3.2.2-3", v5="3.1.2-4 3.1.2-5 3.1.2-6 3.1.4-4 3.2.2-2 3.2.2-3"
)
@pytest.mark.parametrize(("events", "expected"), CASES.values(), ids=CASES)
def test_what_follows(events: list[SessionEvent], expected: list[str]) -> None:
    assert run(*events)[1] == expected


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


def test_progress_comes_with_the_grant_and_ends_with_the_session() -> None:
    ownership, _ = run(
        app("a"),
        ApplicationProgress("a", Progress(5)),
        ApplicationProgress("other", Progress(9)),
        ApplicationProgress("a", Progress(7, acked=(8, 9))),
        ended("a"),
    )
    assert granted(ownership.apply(ID, app("b", "gw2"), 0)).application == Progress(7, acked=(8, 9))
    ownership.apply(ID, ended("b", "gw2"), 0)
    assert granted(ownership.apply(ID, app("c", clean=True), 0)).application is None


def granted(effects: Sequence[Effect]) -> Granted:
    [answer] = [e.answer for e in effects if isinstance(e, Answer) and isinstance(e.answer, Granted)]
    return answer


def test_an_applications_topic_is_removed_once_and_only_if_it_is_due() -> None:
    ownership, _ = run(app("a"), ended("a"), connect("b"), ended("b"), now_ms=1_000)
    assert said(ownership.expire(60_000)) == []
    assert said(ownership.expire(600_999)) == []
    assert said(ownership.expire(601_000)) == ["remove topic", "keep topic"]
    assert ownership.next_deadline_ms is None


def test_topics_are_removed_a_few_at_a_time() -> None:
    ownership = Ownership(removal_delay_ms=0)
    for number in range(50):
        ownership.removals.queue(str(number), 0)
    rounds = [said(ownership.expire(0)).count("remove topic") for _ in range(4)]
    assert rounds == [20, 20, 10, 0]


def test_a_warning_stays_with_the_session() -> None:
    ownership, _ = run(ConnectRequested("gw1", "b", "a", False, 0, 5, APPLICATION, 0, "nothing is kept"))
    session = ownership.session(ID)
    assert session is not None
    assert session.warning == "nothing is kept"


def test_what_is_replaced_in_the_same_transaction_is_left_out() -> None:
    first, last, other = Store(b"a", Progress(1)), Store(b"a", Progress(2)), Store(b"b", None)
    assert without_superseded([first, Clear("c"), other, last]) == [Clear("c"), other, last]


@pytest.mark.mqtt(v5="4.1.0-2")
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


@pytest.mark.mqtt(v3="4.1.0-2", v5="4.1.0-1")
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
        ("four", [app("f", expiry=NEVER), ApplicationProgress("f", Progress(3, received=(3,))), ended("f")]),
        (
            "five",
            [app("g"), ApplicationProgress("g", Progress(3)), ended("g"), app("h", clean=True), ended("h")],
        ),
    ):
        for event in events:
            for effect in ownership.apply(client, event, 0):
                if isinstance(effect, Store):
                    stored[effect.key] = effect.record
    successor = Ownership()
    for key, record in stored.items():
        successor.restore(*decode_key(key), record)  # type: ignore[arg-type]
    assert len(successor) == len(ownership) == 4
    assert successor.processes == ownership.processes
    assert successor.next_deadline_ms == ownership.next_deadline_ms == 9_000
    for client in ("four", "five"):
        assert successor.apply(client, app("x"), 0) == ownership.apply(client, app("x"), 0)
    assert successor.apply("one", ended("a"), 0) == ownership.apply("one", ended("a"), 0)


GROUP = Subscription("$share/g/t", 1)


def member_of_a_group(expiry: int = 100) -> Ownership:
    owned = Ownership()
    owned.apply(ID, connect("c1", expiry=expiry), 0)
    owned.apply(ID, Subscribed("gw1", "c1", (GROUP, Subscription("t", 1))), 0)
    return owned


def released(effects: Sequence[Effect]) -> list[Effect]:
    return [effect for effect in effects if isinstance(effect, Release | Clear | Subscribe)]


def test_a_members_end_gives_back_what_others_may_get() -> None:
    owned = member_of_a_group()
    effects = owned.apply(ID, ConnectionEnded("gw1", "gw1-boot", "c1", None, 0, 0, (7, 9)), 0)
    assert released(effects) == []  # It may come back.
    assert released(owned.apply(ID, connect("c2", clean=True, expiry=100), 1)) == [
        Release(ID, (GROUP,), (7, 9))
    ]
    owned = member_of_a_group()
    effects = owned.apply(ID, ConnectionEnded("gw1", "gw1-boot", "c1", 0, 0, 0, (7,)), 0)
    assert released(effects) == [Release(ID, (GROUP,), (7,))]
    owned = member_of_a_group()
    owned.apply(ID, ConnectionEnded("gw1", "gw1-boot", "c1", None, 0, 0, (7,)), 0)
    assert released(owned.expire(100_000)) == [Release(ID, (GROUP,), (7,))]


def unfed(connection: str, node: str = "gw1", will_delay: int = 0) -> SessionEvent:
    """An end before the client was given anything."""
    return ConnectionEnded(node, f"{node}-boot", connection, None, 0, will_delay, is_unfed=True)


def granted_at_last(*events: SessionEvent, is_lost: bool) -> Granted:
    """Who comes after one to whom 7 and 9 were sent, or to whom nobody knows what was, and then these."""
    owned = Ownership()
    owned.apply(ID, connect("a", expiry=60), 0)
    if is_lost:
        owned.lose(("gw1", "gw1-boot"), 0)
    else:
        owned.apply(ID, ConnectionEnded("gw1", "gw1-boot", "a", None, 0, 0, (7, 9)), 0)
    effects: list[Effect] = []
    for event in events:
        effects = owned.apply(ID, event, 0)
    [granted] = [one.answer for one in effects if isinstance(one, Answer) and isinstance(one.answer, Granted)]
    return granted


@pytest.mark.parametrize("is_lost", [False, True])
@pytest.mark.parametrize(
    "between",
    [
        [],
        [connect("b", "gw2", 60), unfed("b", "gw2")],
        [connect("b", "gw2", 60), unfed("b", "gw2"), connect("c", expiry=60), unfed("c")],
        [connect("b", "gw2", 60), unfed("b", "gw2", will_delay=5), unfed("b", "gw2")],
    ],
    ids=["nobody between", "one", "two", "one whose will waited"],
)
def test_what_was_sent_stands_where_the_client_was_given_nothing_since(
    between: list[SessionEvent], is_lost: bool
) -> None:
    """Else it would be sent again as if it never had been, or by a group to somebody else."""
    granted = granted_at_last(*between, connect("z", "gw2", 60), is_lost=is_lost)
    assert (granted.sent, granted.is_sent_unknown) == (((), True) if is_lost else ((7, 9), False))


@pytest.mark.parametrize("is_lost", [False, True])
def test_who_was_given_something_tells_what_was_sent(is_lost: bool) -> None:
    end = ConnectionEnded("gw2", "gw2-boot", "b", None, 0, 0, (9,))
    granted = granted_at_last(connect("b", "gw2", 60), end, connect("z", expiry=60), is_lost=is_lost)
    assert (granted.sent, granted.is_sent_unknown) == ((9,), False)


def test_a_lost_gateways_members_are_offline() -> None:
    owned = member_of_a_group()
    assert released(owned.lose(("gw1", "gw1-boot"), 0)) == [Subscribe(ID, "gw1", GROUP)]
    # What was sent to it, nobody knows.
    assert released(owned.expire(100_000)) == [Release(ID, (GROUP,), None)]


def test_a_lost_gateways_applications_need_not_leave_their_groups() -> None:
    """Theirs are consumer groups, which know by themselves; a record as a DEVICE's would have them in two."""
    owned = Ownership()
    owned.apply(ID, app("c1"), 0)
    owned.apply(ID, Subscribed("gw1", "c1", (GROUP,)), 0)
    assert released(owned.lose(("gw1", "gw1-boot"), 0)) == []
    assert released(owned.expire(100_000)) == []


GW1 = ("gw1", "gw1-boot")


def test_a_lost_gateways_wills_are_published_once() -> None:
    ownership, _ = run(willing("a"))
    assert said(ownership.lose(GW1, 5_000)) == ["disconnect a@gw1", "will of a"]
    assert said(ownership.apply(ID, left("a"), 6_000)) == []  # it only stood still
    assert said(ownership.expire(1_000_000)) == []


def test_a_lost_gateways_will_comes_before_who_waited() -> None:
    ownership, _ = run(willing("a", expiry=60), willing("b", "gw2"))
    assert said(ownership.lose(GW1, 5_000)) == ["disconnect a@gw1", "will of a", "grant b@gw2 present"]
    assert said(ownership.lose(("gw2", "gw2-boot"), 6_000)) == ["disconnect b@gw2", "will of b", "clear"]


@pytest.mark.parametrize(
    ("expiry", "delay", "back_at_ms", "clean", "expected"),
    [
        (60, 5, None, False, {10_000: ["will of a"]}),
        (60, 5, 7_000, False, {7_000: ["grant b@gw2 present"]}),
        (60, 5, 7_000, True, {7_000: ["will of a", "clear", "grant b@gw2"]}),
        (0, 5, None, False, {5_000: ["will of a"]}),
        (2, 10, None, False, {7_000: ["will of a", "clear"]}),
        (NEVER, 5, None, False, {10_000: ["will of a"]}),
    ],
)
def test_a_lost_gateways_will_waits_for_its_delay_or_the_sessions_end(
    expiry: int, delay: int, back_at_ms: int | None, clean: bool, expected: dict[int, list[str]]
) -> None:
    """M23, when the gateway is lost at 5 s."""
    ownership, _ = run(willing("a", expiry=expiry, delay=delay))
    happened = {5_000: said(ownership.lose(GW1, 5_000))[1:]}
    for now_ms in range(6_000, 90_000, 500):
        happened[now_ms] = said(ownership.expire(now_ms))
        if now_ms == back_at_ms:
            happened[now_ms] += said(
                ownership.apply(ID, connect("b", "gw2", expiry=NEVER, clean=clean), now_ms)
            )
    session_end = {65_000: ["clear"]} if expiry == 60 and back_at_ms is None else {}
    assert {at: words for at, words in happened.items() if words} == expected | session_end


def test_a_delay_that_began_at_the_gateway_goes_on() -> None:
    begun = [willing("a", expiry=60, delay=10), ended("a", at_ms=1_000, will_delay=10)]
    ownership, _ = run(*begun)
    assert said(ownership.lose(GW1, 9_000)) == ["disconnect a@gw1"]
    assert ownership.next_deadline_ms == 11_000
    ownership, _ = run(*begun)
    assert said(ownership.lose(GW1, 12_000)) == ["disconnect a@gw1", "will of a"]


@pytest.mark.parametrize(("back_at_ms", "expected"), [(7_000, []), (13_000, ["will of a"])])
def test_it_counts_when_a_client_came_back_not_when_it_is_let_in(
    back_at_ms: int, expected: list[str]
) -> None:
    back = ConnectRequested("gw2", "gw2-boot", "b", False, 60, 5, DEVICE, back_at_ms)
    words = [*expected, "grant b@gw2 present"]
    # It waits, for the gateway's loss is not known yet …
    ownership, _ = run(
        willing("a", expiry=60, delay=10), ended("a", at_ms=1_000, will_delay=10), back, now_ms=back_at_ms
    )
    assert said(ownership.lose(GW1, 14_000))[1:] == words
    # … or the owner was not there.
    ownership, _ = run(willing("a", expiry=60, delay=6))
    ownership.lose(GW1, 5_000)
    assert said(ownership.apply(ID, back, 14_000)) == words


def test_a_will_that_its_lost_gateway_was_about_to_publish_is_looked_for() -> None:
    ownership, _ = run(willing("a", expiry=60, delay=10), WillBegun("a", 7), WillBegun("other", 9))
    [will] = [effect for effect in ownership.lose(GW1, 5_000) if isinstance(effect, PublishWill)]
    assert will.kept.begun_at_ms == 7


def test_losing_and_expiring_publish_in_portions() -> None:
    ownership = Ownership()
    large = Will("t", bytes(MOST_WILL_BYTES // 3), (), 5)
    for number in range(10):
        request = ConnectRequested("gw1", "gw1-boot", f"c{number}", False, 0, 5, DEVICE, 0, will=large)
        ownership.apply(str(number), request, 0)
    rounds = []
    while GW1 in ownership.processes:
        rounds.append(sum(word.startswith("will") for word in said(ownership.lose(GW1, 0, most=3))))
    assert rounds == [3, 3, 3, 1]
    for number in range(10):
        request = ConnectRequested("gw1", "gw1-boot", f"c{number}", False, 60, 5, DEVICE, 0, will=large)
        ownership.apply(str(number), request, 0)
    while GW1 in ownership.processes:
        ownership.lose(GW1, 0)
    assert [len(said(ownership.expire(5_000))) for _ in range(4)] == [3, 3, 3, 1]


def test_stored_wills_are_the_state() -> None:
    """A successor of the owner publishes what its records have, at its time."""
    stored: dict[bytes, object] = {}
    ownership = Ownership()
    effects: list[Effect] = []
    effects += ownership.apply("one", willing("a", expiry=60, delay=5), 0)
    effects += ownership.apply("two", willing("b"), 0)
    effects += ownership.apply("two", willing("c", "gw2"), 0)
    effects += ownership.apply("three", willing("d", "gw2"), 0)
    effects += ownership.apply("four", willing("e"), 0)
    effects += ownership.apply("four", ended("e"), 0)
    effects += ownership.lose(GW1, 1_000)
    for effect in effects:
        if isinstance(effect, Store) and effect.record is None:
            stored.pop(effect.key, None)
        elif isinstance(effect, Store):
            stored[effect.key] = effect.record
    assert [word for word in said(effects) if word.startswith("will")] == ["will of b"]
    successor = Ownership()
    for key, record in stored.items():
        successor.restore(*decode_key(key), record)  # type: ignore[arg-type]
    assert successor.next_deadline_ms == 6_000
    assert said(successor.expire(6_000)) == ["will of a"]
    lost = said(successor.lose(("gw2", "gw2-boot"), 7_000))
    assert [word for word in lost if word.startswith("will")] == ["will of d", "will of c"]


def test_a_tombstone_ends_a_will() -> None:
    ownership, _ = run(willing("a"))
    ownership.restore(*decode_key(b"id\0\0will:a"), None)
    assert said(ownership.lose(GW1, 0)) == ["disconnect a@gw1"]
