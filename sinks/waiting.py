"""Waiting for a store that does not answer."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from sinks.errors import SinkStoppedError
from stores import StoreUnavailableError

PAUSE_SECONDS = 0.5
"""Between two attempts at a store that does not answer."""
TELL_SECONDS = 10.0
"""How often a log line says that the store is still away."""

_log = logging.getLogger(__name__)
T = TypeVar("T")


def patiently(attempt: Callable[[], T], stopping: threading.Event) -> T:
    """Do something with the store, as often as it takes until the store answers.

    Raises:
        SinkStoppedError: The sink is to stop.
    """
    told_at: float | None = None
    while not stopping.is_set():
        try:
            return attempt()
        except StoreUnavailableError as error:
            if told_at is None or time.monotonic() - told_at > TELL_SECONDS:
                told_at = time.monotonic()
                _log.warning("waiting for the store: %s", error)
        stopping.wait(PAUSE_SECONDS)
    raise SinkStoppedError("the sink is to stop, and the store does not answer")
