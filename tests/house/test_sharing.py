"""Tests on a whole stack stand where the processes that run tests look for them (tests/sharing.py)."""

from __future__ import annotations

import pytest

from tests.sharing import PLACES, ROOT, is_on_a_stack, shared_by


def test_each_place_is_there() -> None:
    assert [place for place in PLACES if not (ROOT / place).exists()] == []


def test_all_on_a_stack_are_known(request: pytest.FixtureRequest) -> None:
    """Of the tests that this run has collected. Else another process would start the stack a second time."""
    on_stack = {item.nodeid for item in request.session.items if "stack" in getattr(item, "fixturenames", ())}
    assert sorted(node_id for node_id in on_stack if not is_on_a_stack(node_id)) == []


def test_two_processes_run_one_stack() -> None:
    harmful, harmless = "tests/live/failures/test_poison.py::test_a", "tests/live/test_wills.py::test_b"
    assert shared_by(harmful, 2) == shared_by(harmless, 2)
    assert shared_by(harmful, 3) != shared_by(harmless, 3)
    assert shared_by("tests/contracts/test_topics.py::test_c[a::b]", 2) == "tests/contracts/test_topics.py"
