"""One line at a rate that a person can read."""

from __future__ import annotations

import logging

import pytest

from sinks.outcomes import Counters
from sinks.progress import Progress


def test_lines(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    progress = Progress(clock=lambda: now)
    with caplog.at_level(logging.INFO):
        progress.tell()
        progress.batches += 1
        progress.add(Counters(records=3, messages=2, stored=1))
        progress.add(Counters(records=4, operations=5))
        progress.tell()
        assert not caplog.messages  # Not yet.
        now = 12.0
        progress.tell()
        now = 30.0
        progress.tell()  # Nothing has happened.
        progress.batches += 1
        now = 31.0
        progress.tell(now=True)
    first, second = caplog.messages
    assert first.startswith("1 batches in 12 s: 7 records, 2 messages of which 1 stored;")
    assert first.endswith("5 store operations")
    assert second.startswith("1 batches in 19 s: 0 records")
    assert progress.total.records == 7
