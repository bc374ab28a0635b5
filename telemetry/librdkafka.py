"""What librdkafka, the Kafka client of all parts, has to say: as lines of the process' own log, each said once.

By itself it writes to standard error, for each client and each attempt to connect. Python is told only when it polls,
and what it is not told is kept: so a client that is polled all the time gets `TOLD`, and any other `QUIET`, for what
fails there its caller hears of anyhow. One client of a process that tells is enough to know that Kafka is away.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)

AGAIN_SECONDS = 60.0
"""So long after a line what says the same is not said again, whichever client says it."""

_THREAD = re.compile(r"^\[thrd:[^]]*\]: ")
_FAILURE = re.compile(
    r"^(?:\w+://)?(?:\w+: )?(?:\w+://)?(?P<broker>[^/\s]+)(?:/\S+)?: (?P<cause>.*)$", re.DOTALL
)
_CIRCUMSTANCES = re.compile(r" \(after \d.*$|, \d+ identical error\(s\) suppressed.*$", re.DOTALL)
_CONNECT = re.compile(r"^Connect to \S+ failed: ")


class KafkaLog:
    """Stands where librdkafka wants a logger; any thread may call it, and all clients of the process share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Args: `clock` tells seconds."""
        self._clock = clock
        self._said: dict[str, float] = {}
        self._lock = threading.Lock()

    def log(self, level: int, _form: str, facility: str, client: str, text: str) -> None:
        """Say it, unless that was said a moment ago.

        Args:
            level: As Python's logging has it.
            _form: How the others are to be put together.
            facility: What it is about, such as `FAIL`: a broker is not to be reached.
            client: The name of the client.
            text: What it says.
        """
        text = _THREAD.sub("", text)
        if facility == "ERROR" and text.endswith("brokers are down"):
            return  # that each of them fails has been said
        if facility == "FAIL" and (failed := _FAILURE.match(text)):
            level = logging.WARNING  # nothing is lost by it
            cause = _CONNECT.sub("", _CIRCUMSTANCES.sub("", failed["cause"]))
            line = f"Kafka at {failed['broker']} cannot be used: {cause}; it is tried again until it answers"
        else:
            line = f"Kafka's client {client}: {text}"
        if self._is_new(line):
            log.log(level, "%s", line)

    def _is_new(self, line: str) -> bool:
        now = self._clock()
        with self._lock:
            if now - self._said.get(line, -AGAIN_SECONDS) < AGAIN_SECONDS:
                return False
            self._said = {one: at for one, at in self._said.items() if now - at < AGAIN_SECONDS}
            self._said[line] = now
            return True


TOLD: dict[str, Any] = {"logger": KafkaLog(), "log_level": 6}
"""For the configuration of a client that is polled all the time."""
QUIET: dict[str, str | int | float | bool] = {"log_level": 2}
"""For that of any other: only what ends the client is written, to standard error."""
