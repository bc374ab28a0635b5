"""Who may have missed a publish: whoever subscribed behind what its gateway had read, and had read before."""

from __future__ import annotations

from edge.gateway.retained import newcomers as newcomers_module
from edge.gateway.retained.newcomers import Newcomer, Newcomers


class Setting:
    """Subscriptions of `c`, each by its filter."""

    def __init__(self) -> None:
        self.newcomers: Newcomers[str] = Newcomers()

    def add(self, filter: str, place: tuple[int, int] | None, read_at: int | None = 1) -> Newcomer[str]:
        one = Newcomer("c", filter, 0, read_at)
        self.newcomers.add(one)
        if place is not None:
            self.newcomers.place(one, *place)
        return one

    def missed(self, *read: int, topic: str = "a/b", sequence: int = 2) -> list[str]:
        return [one.filter for one in self.newcomers.missed(topic, sequence, read)]


def test_who_stands_behind_what_was_read() -> None:
    here = Setting()
    here.add("a/+", (0, 10))
    here.add("a/#", (0, 11))
    here.add("#", (1, 3))
    assert here.missed(12, 4) == []
    assert here.missed(11, 4) == ["a/#"]  # offset 11 was not read: the position is the next one
    assert here.missed(10, 3) == ["a/+", "a/#", "#"]
    assert here.missed(12) == ["#"]  # of a partition that is not told, nothing was read
    assert here.missed(10, 3, topic="x") == ["#"]


def test_whose_record_is_not_durable_yet_but_is_read_for() -> None:
    here = Setting()
    here.add("a/b", None)
    assert here.missed(99, 99) == ["a/b"]


def test_who_has_not_read_yet_or_read_later_has_it_from_there() -> None:
    here = Setting()
    here.add("a/b", (0, 5), read_at=None)
    here.add("a/+", (0, 6), read_at=2)
    here.add("a/#", (0, 7), read_at=1)
    assert here.missed(0, sequence=2) == ["a/#"]


def test_who_is_gone_misses_nothing() -> None:
    here = Setting()
    here.add("a/+", (0, 10))
    waiting = here.add("a/#", None)
    here.newcomers.end("c", "a/+")
    here.newcomers.end("c", "a/#")
    here.newcomers.end("c", "never held")
    here.newcomers.place(waiting, 0, 11)  # its record becomes durable after all
    assert here.missed(0) == []
    assert not here.newcomers._of
    assert not here.newcomers._unplaced


def test_what_is_remembered_is_bounded() -> None:
    here = Setting()
    count = 2 * newcomers_module._REMEMBERED
    for number in range(count):
        here.add(f"f/{number}", (0, number))
    assert here.missed(0, topic="f/0") == []
    assert here.missed(0, topic=f"f/{count - 1}") == [f"f/{count - 1}"]
    assert len(here.newcomers._of["c"]) == newcomers_module._REMEMBERED
