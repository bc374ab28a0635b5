"""Repeats are dropped, per source partition and filter; a new subscription gets nothing older."""

import pytest

from contracts.routed_record import RULE_STRIDE, RULES
from edge.gateway.source_marks import SourceMarks


@pytest.fixture
def marks() -> SourceMarks:
    marks = SourceMarks()
    for filter in ("a", "b"):
        marks.hold(filter)
    return marks


def test_takes_each_offset_once_and_in_order(marks: SourceMarks) -> None:
    assert [marks.take(0, offset, "a") for offset in (5, 5, 4, 6, 6, 9)] == [
        True,
        False,
        False,
        True,
        False,
        True,
    ]


def test_partitions_and_filters_are_apart(marks: SourceMarks) -> None:
    assert marks.take(0, 5, "a")
    assert marks.take(1, 5, "a")
    assert marks.take(0, 5, "b")
    assert not marks.take(1, 5, "a")


def test_a_new_subscription_gets_nothing_older_than_what_was_seen(marks: SourceMarks) -> None:
    marks.see(0, 7)
    marks.see(0, 3)  # a replay brings it again
    marks.hold("new")
    assert [marks.take(0, offset, "new") for offset in (6, 7, 8)] == [False, False, True]
    assert marks.take(1, 0, "new")
    assert marks.take(0, 6, "a"), "who held its filter before gets what it missed"


def test_a_filter_given_up_and_taken_up_again_gets_no_repeats(marks: SourceMarks) -> None:
    marks.see(0, 5)
    marks.take(0, 5, "a")
    marks.forget("a")
    marks.hold("a")
    assert not marks.take(0, 5, "a")


def test_a_filter_that_nobody_holds_costs_nothing(marks: SourceMarks) -> None:
    marks.forget("a")
    marks.forget("b")
    assert len(marks) == 0


def test_what_a_rule_made_is_no_repeat_of_its_message() -> None:
    marks, made = SourceMarks(), RULES + RULE_STRIDE + 2
    marks.see(2, 9)
    marks.hold("#")
    assert not marks.take(made, 8, "#")  # made of what came before the subscription
    assert marks.take(2, 10, "#")
    assert marks.take(made, 10, "#")
    assert not marks.take(made, 10, "#")
    assert not marks.take(made, 9, "#")
    assert marks.take(2, 11, "#")
    marks.see(made, 11)
    assert marks.floors() == (-1, -1, 9)
