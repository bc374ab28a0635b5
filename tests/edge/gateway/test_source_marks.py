"""Repeats are dropped, per source partition and filter; memory stays bounded."""

from edge.gateway import source_marks
from edge.gateway.source_marks import SourceMarks


def test_takes_each_offset_once_and_in_order() -> None:
    marks = SourceMarks()
    assert [marks.take(0, offset, "a") for offset in (5, 5, 4, 6, 6, 9)] == [
        True,
        False,
        False,
        True,
        False,
        True,
    ]


def test_partitions_and_filters_are_apart() -> None:
    marks = SourceMarks()
    assert marks.take(0, 5, "a")
    assert marks.take(1, 5, "a")
    assert marks.take(0, 5, "b")
    assert not marks.take(1, 5, "a")


def test_marks_outlive_a_resubscription() -> None:
    marks = SourceMarks()
    marks.take(0, 5, "a")
    marks.forget("a")
    marks.hold("a")
    assert not marks.take(0, 5, "a")


def test_marks_of_filters_that_nobody_holds_are_bounded() -> None:
    marks = SourceMarks()
    marks.take(0, 1, "held")
    for number in range(source_marks._SPARE + 100):
        marks.take(0, number, f"f/{number}")
        marks.forget(f"f/{number}")
    assert len(marks) == source_marks._SPARE + 1
    assert not marks.take(0, 1, "held")
