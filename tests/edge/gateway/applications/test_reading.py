"""Readings: what is new, how far the floor is, and that whoever goes on from its progress goes on where it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contracts.application_progress import Progress
from contracts.routed_record import Route
from edge.gateway.applications.reading import Reading, Verdict

NEW, RECEIVED, NOTHING = Verdict.NEW, Verdict.RECEIVED, Verdict.NOTHING


def route(offset: int, partition: int = 0, filter: str = "a") -> Route:
    return Route(partition, offset, "a", filter)


def test_the_floor_follows_the_first_that_is_under_way() -> None:
    here = Reading(Progress(5))
    assert [here.take(offset, route(offset)) for offset in (5, 6, 9)] == [NEW] * 3
    assert (here.floor, here.position) == (5, 10)
    here.done(6)
    assert here.progress() == Progress(5, acked=(6, 7))
    here.done(5)
    assert here.progress() == Progress(9, '{"marks":{"0":6},"seen":{"":{"0":[""]}}}')
    here.done(9)
    assert here.progress().floor == 10


def test_markers_and_gaps_are_nobodys() -> None:
    here = Reading(Progress(5))
    here.skip(5)
    assert here.floor == 6
    here.take(8, route(1))
    here.skip(9)
    assert here.floor == 8
    here.done(8)
    assert here.floor == 10


def test_repeats() -> None:
    here = Reading(Progress(0))
    group = "$share/g/a"  # what comes by a group is a message of its own, by another filter it is the same
    sources = [
        route(7),
        route(7),
        route(6),
        route(7, filter="b"),
        route(7, filter=group),
        route(1, partition=1),
    ]
    taken = [here.take(offset, source) for offset, source in enumerate(sources)]
    assert taken == [NEW, NOTHING, NOTHING, NOTHING, NEW, NEW]
    assert here.repeated == 3


def test_what_was_received_goes_on_with_its_release() -> None:
    here = Reading(Progress(0, acked=(1, 3), received=(0, 3)))
    assert here.received_offsets == [0, 3]
    here.done(3)  # PUBCOMP, before it was read again
    assert here.progress() == Progress(0, acked=(1, 4), received=(0,))
    assert [here.take(offset, route(offset)) for offset in range(5)] == [
        RECEIVED,
        NOTHING,
        NOTHING,
        NOTHING,
        NEW,
    ]
    here.done(0)
    assert here.progress().floor == 4


def test_what_retention_took_is_forgotten() -> None:
    here = Reading(Progress(0, acked=(1, 3)))
    here.take(10, route(10))
    assert here.progress() == Progress(10)


# A topic: at each offset a source position, which may be a repeat, or a marker.
topics = st.lists(
    st.none() | st.tuples(st.integers(0, 1), st.integers(0, 6), st.sampled_from("ab")), max_size=25
)


# How far each connection reads, and which of what it is sent it acknowledges.
connections = st.lists(st.tuples(st.integers(0, 25), st.sets(st.integers(0, 24))), max_size=6)


@given(topics, connections)
def test_however_often_it_is_begun_anew(
    topic: list[tuple[int, int, str] | None], connections: list[tuple[int, set[int]]]
) -> None:
    """Each message of the topic, judged once as a whole, is sent until it is done with, and never after."""

    def read(reading: Reading, end: int) -> list[int]:
        new = []
        for offset in range(reading.position, end):
            source = topic[offset]
            if source is None:
                reading.skip(offset)
            elif reading.take(offset, route(source[1], source[0], source[2])) is NEW:
                new.append(offset)
        return new

    wanted = read(Reading(Progress(0)), len(topic))
    finished: set[int] = set()
    progress = Progress(0)
    for length, answered in connections:
        here = Reading(progress)
        end = min(progress.floor + length, len(topic))
        sent = read(here, end)
        assert sent == [o for o in wanted if o in range(progress.floor, end) and o not in finished]
        for offset in answered & set(sent):
            here.done(offset)
            finished.add(offset)
        progress = here.progress()
        assert all(offset in finished for offset in wanted if offset < progress.floor)
