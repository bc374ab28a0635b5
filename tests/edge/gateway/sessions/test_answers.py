"""Large answers come in several records, and lose nothing."""

from __future__ import annotations

from contracts.session_event import Granted, InboundExchange, Refused, Subscription, encode
from edge.gateway.sessions.answers import parts_of, portions_of


def test_a_small_answer_is_one() -> None:
    for answer in (
        Refused("c", 0x8E),
        Granted("id", "c", False, 0),
        Granted("id", "c", True, 9, (Subscription("a"),)),
    ):
        assert parts_of(answer) == [answer]


def test_a_large_answer_in_parts_of_bounded_size() -> None:
    subscriptions = tuple(Subscription(f"{number}/{'ü' * 30_000}", 1) for number in range(40))
    answer = Granted("id", "c", True, 9, subscriptions, (InboundExchange(1),))
    *partial, last = parts_of(answer)
    assert len(partial) > 2
    assert all(isinstance(part, Granted) and part.is_partial and not part.inbound for part in partial)
    assert isinstance(last, Granted)
    assert (last.is_partial, last.inbound) == (False, answer.inbound)
    parts = [part for part in (*partial, last) if isinstance(part, Granted)]
    assert sum((part.subscriptions for part in parts), ()) == subscriptions
    assert max(len(encode(part)) for part in parts) < 1 << 20


def test_one_that_is_too_large_by_itself_is_a_portion() -> None:
    huge = Subscription("x" * (1 << 20))
    assert list(portions_of((Subscription("a"), huge, Subscription("b")))) == [
        (Subscription("a"),),
        (huge,),
        (Subscription("b"),),
    ]
