"""Records' times are milliseconds."""

from __future__ import annotations

import time

from contracts.wall_clock import epoch_ms


def test_it_goes_with_the_clock_of_the_day() -> None:
    before, found, after = time.time(), epoch_ms(), time.time()
    assert int(before * 1_000) <= found <= after * 1_000 + 1
