"""How often somebody may try to log in."""

from __future__ import annotations

import math
import time

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

PER_USER = RateLimitItemPerMinute(5)
"""Wrong passwords for one name; who knows it is let in again a minute later at the latest."""
PER_ADDRESS = RateLimitItemPerMinute(20)
"""Wrong passwords from one address, whatever the names."""


class LoginAttempts:
    """Counts wrong passwords, in this process."""

    def __init__(self) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def seconds_to_wait(self, name: str, address: str) -> int:
        """How long this name, or whoever is at this address, has to wait; 0: not at all."""
        waits = [0]
        for limit, key in _keys(name, address):
            if not self._limiter.test(limit, key):
                waits.append(math.ceil(self._limiter.get_window_stats(limit, key).reset_time - time.time()))
        return max(waits)

    def note_failure(self, name: str, address: str) -> None:
        """A wrong password was given."""
        for limit, key in _keys(name, address):
            self._limiter.hit(limit, key)


def _keys(name: str, address: str) -> tuple[tuple[RateLimitItemPerMinute, str], ...]:
    return (PER_USER, f"user {name[:255]}"), (PER_ADDRESS, f"address {address}")
