"""Rates by key: nobody gains by going and coming back, and who stays away costs nothing."""

from __future__ import annotations

import gc

from hypothesis import given
from hypothesis import strategies as st

from edge.gateway.limits.keyed_rates import KeyedRates
from edge.gateway.limits.rate import Window, take


def test_who_is_back_soon_has_what_was_left() -> None:
    rates = KeyedRates([Window(2, 10)])
    assert take([rates.of("a", 0.0)], 0.0)
    assert take([rates.of("a", 0.0)], 0.0)
    assert not take([rates.of("a", 1.0)], 1.0)
    assert take([rates.of("b", 1.0)], 1.0)
    assert take([rates.of("a", 10.1)], 10.1)


def test_who_was_long_there_has_it_too() -> None:
    rates = KeyedRates([Window(1, 10)])
    held = rates.of("a", 0.0)
    for now in range(1, 100):
        rates.of(f"other {now}", now)
    assert rates.of("a", 99.0) is held
    assert take([held], 99.0)
    rates.keep("a", 99.0)
    del held
    gc.collect()
    assert not rates.of("a", 100.0).allows(100.0)


def test_what_is_not_used_is_forgotten() -> None:
    rates = KeyedRates([Window(1, 10)])
    for number in range(1_000):
        rates.of(f"{number}", number)
    gc.collect()
    assert len(rates) <= 20
    rates.keep("nobody", 1_000.0)
    assert rates.of("late", 2_000.0).allows(2_000.0)
    gc.collect()
    assert len(rates) == 1


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 7)), max_size=200))
def test_forgetting_makes_no_difference(steps: list[tuple[str, float]]) -> None:
    """Beside rates that are kept for ever."""
    window = Window(3, 5)
    rates, kept = KeyedRates([window]), {key: KeyedRates([window]).of(key, 0.0) for key in "ab"}
    now = 0.0
    for key, gap in steps:
        now += gap
        assert take([rates.of(key, now)], now) == take([kept[key]], now)
