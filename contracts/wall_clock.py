"""The time of the day as records have it."""

from __future__ import annotations

import time


def epoch_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
