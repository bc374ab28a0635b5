"""Keep parts running: start them, restart one that dies, stop all of them in order.

A part tells how far it is by lines on its stdout that begin with a *mark* (`LISTENING {json}`). Nothing here knows what
the parts are; `kafka`, `router` and `gateway` describe them.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from admin.errors import PartError
from admin.stack.process import ChildProcess
from admin.stack.reaper import Reaper

FIRST_PAUSE = 0.2
"""Seconds before the first restart: short, since a part that was killed once starts well again."""
LONGEST_PAUSE = 5.0
"""The pause doubles up to this for a part that dies again and again, so that it takes no whole core."""
LONG_ENOUGH = 30.0
"""A part that has run for so many seconds has started well: its next restart is quick again."""
MAX_FALSE_STARTS = 3
"""Whoever waits for a part gives up when it has died so often before it got there."""


@dataclass(frozen=True)
class Part:
    """A program that the supervisor keeps running."""

    name: str
    command: Sequence[str]
    marks: Sequence[str] = ()
    """What lines that tell of its progress begin with."""
    environment: Mapping[str, str] = field(default_factory=dict)
    patience: float = 15.0
    """Seconds from the request to stop until it is killed."""
    stamp: str = ""
    """Regular expression of what the program's log puts before each line; a mark may stand behind it."""


class Supervised:
    """A part and its present run. All but `run` belongs to the supervisor's condition."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.process: ChildProcess | None = None
        self.reached: dict[str, str] = {}
        self.restarts = 0
        self.last_line = ""
        self.stopping = threading.Event()
        self.thread: threading.Thread | None = None


class Supervisor:
    """Runs parts until `stop`, which also the end of its `with` block calls."""

    def __init__(
        self, logs: Path, locks: Iterable[int] = (), on_event: Callable[[str], None] = lambda _event: None
    ) -> None:
        """Make one; nothing is started but its watcher.

        Args:
            logs: Folder for the parts' log files.
            locks: File descriptors to be held until the last part is dead.
            on_event: Told, in one sentence, when a part has died and is restarted.
        """
        logs.mkdir(parents=True, exist_ok=True)
        self.logs = logs
        self._reaper = Reaper(locks)
        self._on_event = on_event
        self._changed = threading.Condition()
        self._parts: dict[str, Supervised] = {}

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def names(self) -> list[str]:
        """The parts, in the order in which they were started."""
        return list(self._parts)

    @property
    def reaper_pid(self) -> int:
        """The process that kills all parts when this one is gone."""
        return self._reaper.pid

    def start(self, part: Part) -> None:
        """Start a part and keep it running."""
        supervised = Supervised(part)
        with self._changed:
            self._parts[part.name] = supervised
        self._spawn(supervised)
        supervised.thread = threading.Thread(
            target=self._keep, args=(supervised,), name=part.name, daemon=True
        )
        supervised.thread.start()

    def wait_for(self, name: str, mark: str, seconds: float) -> str:
        """Wait until the part's present run has shown the mark; return what stands after it on the line.

        Raises:
            PartError: It did not in so many seconds, or died three times before it did.
        """
        supervised = self._parts[name]
        with self._changed:
            false_starts_end = supervised.restarts + MAX_FALSE_STARTS
            self._changed.wait_for(
                lambda: mark in supervised.reached or supervised.restarts >= false_starts_end, timeout=seconds
            )
            if mark in supervised.reached:
                return supervised.reached[mark]
            failed = supervised.restarts >= false_starts_end
        what = (
            f"died {MAX_FALSE_STARTS} times while starting"
            if failed
            else f"was not ready within {seconds:.0f} s"
        )
        last = f" (it said last: {supervised.last_line[:300]})" if supervised.last_line else ""
        raise PartError(f"The part {name} {what}{last}: see {self._log(supervised)}.")

    def wait_for_restart(self, name: str, restarts: int, mark: str, seconds: float) -> None:
        """Wait until the part has been restarted more than so many times and its present run has shown the mark."""
        supervised = self._parts[name]
        with self._changed:
            done = self._changed.wait_for(
                lambda: supervised.restarts > restarts and mark in supervised.reached, timeout=seconds
            )
        if not done:
            raise PartError(
                f"The part {name} was not back within {seconds:.0f} s: see {self._log(supervised)}."
            )

    def restarts(self, name: str) -> int:
        """How often the part has been restarted."""
        with self._changed:
            return self._parts[name].restarts

    def pid(self, name: str) -> int:
        """The process id of the part's present run."""
        with self._changed:
            process = self._parts[name].process
        assert process is not None  # noqa: S101  (`start` returns only after the first spawn)
        return process.pid

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a part's present run and all that it has started."""
        with self._changed:
            process = self._parts[name].process
        if process:
            process.signal(number)

    def stop(self) -> None:
        """Stop all parts, the last started first, and the watcher. May be called again."""
        for supervised in reversed(list(self._parts.values())):
            supervised.stopping.set()
            if supervised.process:
                supervised.process.stop(supervised.part.patience)
            if supervised.thread:
                supervised.thread.join()
        self._reaper.close()

    def _keep(self, supervised: Supervised) -> None:
        pause = FIRST_PAUSE
        while True:
            started_at = time.monotonic()
            assert supervised.process is not None  # noqa: S101  (`start` and the end of this loop spawn)
            status = supervised.process.wait()
            if supervised.stopping.is_set():
                return
            pause = FIRST_PAUSE if time.monotonic() - started_at > LONG_ENOUGH else pause
            with self._changed:
                supervised.restarts += 1
                supervised.reached.clear()
                self._changed.notify_all()
            name = supervised.part.name
            self._on_event(
                f"{name} ended ({_describe(status)}); restart {supervised.restarts} in {pause:g} s"
            )
            if supervised.stopping.wait(pause):
                return
            pause = min(2 * pause, LONGEST_PAUSE)
            self._spawn(supervised)

    def _spawn(self, supervised: Supervised) -> None:
        part = supervised.part
        run = ChildProcess(
            part.command,
            self._log(supervised),
            self._reaper,
            lambda line: self._hear(supervised, line),
            part.environment,
        )
        with self._changed:
            supervised.process = run
        if supervised.stopping.is_set():  # `stop` may have looked just before this run was there.
            run.signal(signal.SIGKILL)

    def _hear(self, supervised: Supervised, line: str) -> None:
        with self._changed:
            if line.strip():
                supervised.last_line = line.strip()
            line = re.sub(f"^(?:{supervised.part.stamp})", "", line)
            for mark in supervised.part.marks:
                if line == mark or line.startswith(f"{mark} "):
                    supervised.reached[mark] = line[len(mark) + 1 :]
                    self._changed.notify_all()

    def _log(self, supervised: Supervised) -> Path:
        return self.logs / f"{supervised.part.name}.log"


def _describe(status: int) -> str:
    return f"status {status}" if status >= 0 else signal.Signals(-status).name
