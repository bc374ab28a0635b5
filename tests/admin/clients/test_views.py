"""What a view makes of logs: the last word counts, and what is gone is gone."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from admin.clients.names import SortedNames
from admin.clients.retained import RetainedMessages, RetainedQuery
from admin.clients.search import matcher
from admin.clients.sessions import ApplicationPlace, ClientQuery, SessionsView
from admin.clients.subscriptions import SubscriptionQuery, SubscriptionsView
from contracts import retained_record, session_record, subscription_record
from contracts.application_progress import Progress
from contracts.errors import RecordError
from contracts.publish_record import MessageProperties, PublishRecord
from contracts.retained_record import RetainedRecord
from contracts.session_event import InboundExchange, Subscription
from contracts.session_record import CONNECTED, OFFLINE, KeptWill, SessionRecord
from contracts.subscription_record import SubscriptionRecord
from contracts.will_record import Will

SESSION = SessionRecord(CONNECTED, "gw1", "b", "c1", 60, 5, "DEVICE", 7, is_persistent=True)
AWAY = SessionRecord(OFFLINE, "gw1", "b", "c1", 60, 5, "DEVICE", 7, 9, True, sent=(1, 2, 3))


def test_names_are_in_order_whatever_comes_and_goes() -> None:
    names, present = SortedNames(), set[str]()
    chance = random.Random(7)
    for step in range(3_000):
        name = str(chance.randrange(60))
        if name in present:
            present.remove(name)
            names.remove(name)
        else:
            present.add(name)
            names.add(name)
        if step % 7 == 0:
            assert names.ordered(present) == sorted(present)


@pytest.mark.parametrize(
    ("search", "name", "found"),
    [
        ("", "x", True),
        ("B", "abc", True),
        ("ß", "STRASSE", True),
        ("a*c", "ABC", True),
        ("a*c", "abcd", False),
        ("a?c", "abc", True),
        ("[a]*", "abc", False),
        ("[a]*", "[a]bc", True),
        ("*\\*", "a\\b", True),
        ("a*", "a\nb", True),
    ],
)
def test_what_is_sought(search: str, name: str, found: bool) -> None:
    assert matcher(search)(name) is found


def test_a_pattern_takes_no_longer_for_what_is_made_for_it() -> None:
    """Steps that multiply would not end; time is not asserted, the test's own limit is."""
    assert not matcher("*a" * 30 + "b")("a" * 65_000)


def test_the_last_record_of_a_session_counts() -> None:
    view = SessionsView()
    for record in (SESSION, AWAY, SESSION):
        view.take(session_record.session_key("id"), session_record.encode(record))
    assert (len(view), view.connected) == (1, 1)
    view.take(session_record.session_key("id"), session_record.encode(AWAY))
    assert view.connected == 0
    found = view.get("id")
    assert found is not None
    assert (found.state, found.ended_at_ms, found.sent) == (
        OFFLINE,
        9,
        (),
    )  # what nobody looks at is not kept
    view.take(session_record.session_key("id"), None)
    view.take(session_record.session_key("id"), None)
    assert (len(view), view.connected) == (0, 0)
    assert view.find(ClientQuery(), 0, 10) == (0, [])


def test_user_names_come_and_go_with_their_sessions() -> None:
    view = SessionsView()

    def put(client_id: str, user: str | None) -> None:
        session = replace(SESSION, user_name=user)
        view.take(session_record.session_key(client_id), session_record.encode(session))

    def found(search: str) -> list[str]:
        _, page = view.find(ClientQuery(search), 0, 10)
        return [client_id for client_id, _ in page]

    for client_id, user in (("a", "Ann"), ("b", "Ann"), ("c", None), ("d", "Bob"), ("ann", "Bob")):
        put(client_id, user)
    assert found("ANN") == ["a", "ann", "b"]
    put("a", "Bob")
    view.take(session_record.session_key("b"), None)
    assert found("ann") == ["ann"]
    assert found("b?b") == ["a", "ann", "d"]


def test_what_belongs_to_a_session() -> None:
    view = SessionsView()
    view.take(session_record.session_key("id"), session_record.encode(SESSION))
    kept = Subscription("a", 1)
    view.take(session_record.subscription_key("id", "a"), session_record.encode(kept))
    view.take(session_record.exchange_key("id", 3), session_record.encode(InboundExchange(3)))
    progress = Progress(7, acked=(9, 12, 20, 21))
    view.take(session_record.progress_key("id"), session_record.encode(progress))
    assert view.place("id") == ApplicationPlace(7, 4)
    for connection in ("c0", "c1"):
        will = KeptWill(connection, Will(connection, b"1234"))
        headers = session_record.headers_of(will)
        view.take(session_record.will_key("id", connection), session_record.encode(will), headers)
    found = view.will("id")
    assert found is not None
    assert (found.will.topic, found.will.payload) == ("c1", b"4")
    view.take(session_record.will_key("id", "c1"), None)
    view.take(session_record.progress_key("id"), None)
    assert (view.will("id"), view.place("id"), len(view)) == (None, None, 1)


def test_a_clients_subscriptions() -> None:
    view = SubscriptionsView()

    def put(client_id: str, filter: str, qos: int = 0) -> None:
        record = SubscriptionRecord(client_id, filter, "gw1", qos)
        key = subscription_record.encode_key(client_id, filter)
        view.take(key, subscription_record.encode_value(record))

    def end(client_id: str, filter: str) -> None:
        view.take(subscription_record.encode_key(client_id, filter), None)

    for filter in ("b", "a", "c"):
        put("id", filter)
    put("id", "a", 2)
    put("other", "a")
    assert [(one.filter, one.qos) for one in view.of_client("id")] == [("a", 2), ("b", 0), ("c", 0)]
    assert (view.count("id"), view.count("other"), view.count("nobody"), len(view)) == (3, 1, 0, 4)
    for filter in ("b", "nothing", "a", "c", "c"):
        end("id", filter)
    assert (view.count("id"), view.of_client("id"), len(view)) == (0, [], 1)
    end("other", "a")
    assert view.find(SubscriptionQuery(), 0, 10) == (0, [])


def test_what_cannot_be_read_counts_as_gone() -> None:
    view = SubscriptionsView()
    key = subscription_record.encode_key("id", "a")
    view.take(key, subscription_record.encode_value(SubscriptionRecord("id", "a", "gw1")))
    with pytest.raises(RecordError):
        view.take(key, b"[]")
    assert len(view) == 0


def retain(view: RetainedMessages, offset: int, payload: bytes, expiry: int | None = None) -> None:
    """A record of the topic `t`, of a publish at an offset."""
    said = MessageProperties(expiry, None if expiry is None else 1_000)
    record = RetainedRecord(PublishRecord("t", payload, qos=1, properties=said), 0, offset)
    headers = retained_record.encode_headers(record)
    view.take((0, 100 - offset), 5, b"t", payload or None, headers, now_ms=2_000)


def test_the_newest_publish_counts_wherever_its_record_stands() -> None:
    """I9: gateways may append records in another order than their publishes."""
    view = RetainedMessages()
    retain(view, 7, b"newer")
    retain(view, 3, b"old")
    found = view.get("t")
    assert found is not None
    assert (found.place.size, found.place.offset) == (5, 93)
    retain(view, 9, b"")
    retain(view, 7, b"newer")
    assert (view.get("t"), len(view)) == (None, 0)
    assert view.find(RetainedQuery(), 0, 10) == (0, [])


def test_what_expires() -> None:
    view = RetainedMessages()
    retain(view, 1, b"1", expiry=60)
    view.expire(60_999)
    found = view.get("t")
    assert found is not None
    assert found.expires_at_ms == 61_000
    view.expire(61_000)
    assert (view.get("t"), len(view)) == (None, 0)
