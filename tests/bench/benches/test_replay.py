"""The replay bench: what stays on the heap is told from what is only under way."""

from __future__ import annotations

import pytest

from bench.benches.replay import _growth


def test_messages_under_way_are_no_growth() -> None:
    alive, against = _growth([90.0, 95.0, 150.0, 120.0, 125.0, 122.0, 290.0, 120.0])
    assert alive.value == 120.0
    assert "up to 290" in alive.note
    assert against.value == 1.0
    assert against.is_met


def test_what_stays_is() -> None:
    alive, against = _growth([90.0, 95.0, 100.0, 150.0, 200.0, 250.0, 300.0, 350.0])
    assert alive.value == 300.0
    assert against.value == pytest.approx(3.0)
    assert against.is_met is False


def test_three_collections_say_nothing() -> None:
    assert _growth([90.0, 95.0, 100.0]) == []
