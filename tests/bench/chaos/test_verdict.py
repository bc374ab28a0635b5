"""The verdict can say no in each of its ways, and yes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from bench.chaos.verdict import Arrival, Stretch, Verdict, judge

ONE, TWO = "t/q1", "t/q2"
WANTED = {ONE: 1, TWO: 2}


def came(topic: str, numbers: Iterable[int], qos: int | None = None) -> list[Arrival]:
    return [
        Arrival(topic, number, WANTED.get(topic, 2) if qos is None else qos, False, 0.0, 1)
        for number in numbers
    ]


def verdict_of(
    *arrivals: list[Arrival], published: int = 4, begins: int = 0, is_last: bool = True
) -> Verdict:
    stretch = Stretch(dict.fromkeys(WANTED, begins), [one for some in arrivals for one in some], is_last)
    return judge("s", WANTED, dict.fromkeys(WANTED, published), [stretch])


def findings(verdict: Verdict) -> list[tuple[str, str, int]]:
    return [(finding.what, finding.topic, finding.number) for finding in verdict.findings]


def test_all_of_it() -> None:
    verdict = verdict_of(came(ONE, range(4)), came(TWO, range(4)))
    assert (verdict.expected, verdict.delivered, verdict.again, verdict.findings) == (8, 8, 0, [])


def test_a_repeat_is_allowed_at_qos_1_alone() -> None:
    verdict = verdict_of(came(ONE, [0, 1, 0, 1, 2, 3]), came(TWO, [0, 1, 2, 3, 2]))
    assert verdict.again == 2
    assert findings(verdict) == [("repeated", TWO, 2)]
    assert len(verdict.findings[0].arrivals) == 2


@pytest.mark.parametrize("topic", [ONE, TWO])
def test_what_is_missing(topic: str) -> None:
    numbers = {ONE: range(4), TWO: range(4)} | {topic: (0, 2)}
    verdict = verdict_of(came(ONE, numbers[ONE]), came(TWO, numbers[TWO]))
    assert findings(verdict) == [("missing", topic, 1), ("missing", topic, 3)]


def test_the_first_copy_comes_late() -> None:
    assert findings(verdict_of(came(ONE, [0, 2, 1, 3]), came(TWO, range(4)))) == [("late", ONE, 1)]


def test_what_was_published_before_the_suback_may_have_been_sent_again() -> None:
    verdict = verdict_of(came(ONE, [3, 1, 4]), came(TWO, [3, 1, 4]), published=5, begins=2, is_last=False)
    assert ("late", TWO, 1) in findings(verdict)
    assert ("late", ONE, 1) not in findings(verdict)


def test_what_nobody_published() -> None:
    strange = [came("other", [0]), came(ONE, [4]), came(ONE, [-1]), came(TWO, [0], qos=1)]
    verdict = verdict_of(came(ONE, range(4)), came(TWO, range(4)), *strange)
    assert findings(verdict) == [
        ("wrong", "other", 0),
        ("wrong", ONE, 4),
        ("wrong", ONE, -1),
        ("wrong", TWO, 0),
    ]


def test_a_clean_connection_that_ended_owes_what_came_before_its_newest() -> None:
    verdict = verdict_of(came(ONE, [1, 2, 4]), came(TWO, [2, 3]), published=9, begins=2, is_last=False)
    assert findings(verdict) == [("missing", ONE, 3)]
    assert (verdict.expected, verdict.delivered) == (5, 5)


def test_a_clean_connection_that_lasts_owes_all_to_the_end() -> None:
    verdict = verdict_of(came(ONE, [2, 3]), came(TWO, [2]), begins=2)
    assert findings(verdict) == [("missing", TWO, 3)]


def test_a_connection_without_a_suback_owes_nothing() -> None:
    assert judge("s", WANTED, dict.fromkeys(WANTED, 4), [Stretch({})]).findings == []


def test_what_one_clean_connection_got_the_next_may_get_again() -> None:
    stretches = [Stretch({TWO: 0}, came(TWO, [0, 1])), Stretch({TWO: 2}, came(TWO, [1, 2]), is_last=True)]
    assert judge("s", {TWO: 2}, {TWO: 3}, stretches).findings == []
