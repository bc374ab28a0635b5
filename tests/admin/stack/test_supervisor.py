"""Parts are restarted, stopped in order, and never outlive their supervisor. Tiny programs stand in for the parts."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from admin.errors import PartError
from admin.stack.process import ChildProcess
from admin.stack.reaper import Reaper
from admin.stack.supervisor import MAX_FALSE_STARTS, Part, Supervisor

READY = "print('READY', 'now', flush=True)"
WAIT = "import signal; signal.pause()"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def program(*lines: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", "\n".join(lines)]


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "logs") as supervisor:
        yield supervisor


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_mark_and_log(supervisor: Supervisor) -> None:
    supervisor.start(Part("a", program("print('before')", READY, WAIT), marks=("READY",)))
    assert supervisor.wait_for("a", "READY", 20) == "now"
    assert (supervisor.logs / "a.log").read_text() == "before\nREADY now\n"
    assert supervisor.names == ["a"]


def test_a_mark_behind_the_stamp_of_a_log(supervisor: Supervisor) -> None:
    shown = program("print('12 INFO not READY', flush=True)", "print('12 INFO READY', flush=True)", WAIT)
    supervisor.start(Part("a", shown, marks=("READY",), stamp=r"\d+ INFO "))
    assert supervisor.wait_for("a", "READY", 20) == ""


def test_a_part_that_is_killed_comes_back(supervisor: Supervisor) -> None:
    supervisor.start(Part("a", program(READY, WAIT), marks=("READY",)))
    supervisor.wait_for("a", "READY", 20)
    first = supervisor.pid("a")
    supervisor.signal("a", signal.SIGKILL)
    supervisor.wait_for_restart("a", 0, "READY", 20)
    assert supervisor.pid("a") != first
    assert supervisor.restarts("a") == 1


def test_a_part_that_cannot_start_is_reported(supervisor: Supervisor) -> None:
    supervisor.start(Part("a", program("raise SystemExit('no such thing')"), marks=("READY",)))
    with pytest.raises(PartError, match=rf"a died {MAX_FALSE_STARTS} times .*no such thing.*a\.log"):
        supervisor.wait_for("a", "READY", 60)


def test_a_part_that_is_not_ready_in_time_is_reported(supervisor: Supervisor) -> None:
    supervisor.start(Part("a", program(WAIT), marks=("READY",)))
    with pytest.raises(PartError, match="not ready within 0 s"):
        supervisor.wait_for("a", "READY", 0.01)


def test_events_tell_how_a_part_ended(tmp_path: Path) -> None:
    events: list[str] = []
    told = threading.Event()

    def hear(event: str) -> None:
        events.append(event)
        told.set()

    with Supervisor(tmp_path, on_event=hear) as supervisor:
        supervisor.start(Part("a", program(WAIT)))
        supervisor.signal("a", signal.SIGKILL)
        assert told.wait(20)
    assert events[0] == "a ended (SIGKILL); restart 1 in 0.2 s"


def test_stop_is_in_reverse_order_and_final(tmp_path: Path) -> None:
    order = tmp_path / "order"
    stops = (
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1], 'a').write({0!r}), sys.exit()))"
    )
    with Supervisor(tmp_path) as supervisor:
        for name in "abc":
            command = [*program(stops.format(name), READY, "signal.pause()"), str(order)]
            supervisor.start(Part(name, command, marks=("READY",)))
            supervisor.wait_for(name, "READY", 20)
        pids = [supervisor.pid(name) for name in "abc"]
        supervisor.stop()
        assert order.read_text() == "cba"
        assert all(map(is_gone, pids))
        assert [supervisor.restarts(name) for name in "abc"] == [0, 0, 0]


@pytest.mark.parametrize("paused", [False, True])
def test_a_part_that_does_not_listen_is_killed(tmp_path: Path, paused: bool) -> None:
    with Supervisor(tmp_path) as supervisor:
        supervisor.start(Part("a", program(DEAF, READY, WAIT), marks=("READY",), patience=0.1))
        supervisor.wait_for("a", "READY", 20)
        pid = supervisor.pid("a")
        if paused:
            supervisor.signal("a", signal.SIGSTOP)
    assert is_gone(pid)


def test_what_a_part_has_started_ends_with_it(tmp_path: Path) -> None:
    grandchild = (
        f"import subprocess, sys; print('READY', subprocess.Popen({program(DEAF, WAIT)!r}).pid, flush=True)"
    )
    with Supervisor(tmp_path) as supervisor:
        supervisor.start(Part("a", program(grandchild, WAIT), marks=("READY",)))
        first = int(supervisor.wait_for("a", "READY", 20))
        os.kill(supervisor.pid("a"), signal.SIGKILL)
        supervisor.wait_for_restart("a", 0, "READY", 20)
        assert is_gone(first) or _is_zombie(first)


def _is_zombie(pid: int) -> bool:
    # In a container whose first process collects nobody, an orphan stays listed after its death.
    return ") Z " in Path(f"/proc/{pid}/stat").read_text()


def test_nothing_outlives_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    child = program(DEAF, WAIT)
    code = f"""
import signal
from pathlib import Path
from admin.stack.supervisor import Part, Supervisor
supervisor = Supervisor(Path({str(tmp_path)!r}))
for name in "ab":
    supervisor.start(Part(name, {child!r}))
print(supervisor.reaper_pid, supervisor.pid("a"), supervisor.pid("b"), flush=True)
signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        ends = [os.pidfd_open(pid) for pid in pids]
        parent.kill()
    for end in ends:
        _wait_for_end(end)


def _wait_for_end(pidfd: int) -> None:
    try:
        readable, _, _ = select.select([pidfd], [], [], 20)
        assert readable
    finally:
        os.close(pidfd)


def test_the_watcher_forgets_what_is_released() -> None:
    reaper = Reaper()
    kept = subprocess.Popen(program(WAIT), process_group=0)
    reaper.watch(kept.pid)
    reaper.release(kept.pid)
    reaper.close()
    assert kept.poll() is None
    kept.kill()
    kept.wait()


def test_a_log_that_has_grown_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admin.stack.process.MAX_LOG_BYTES", 10)
    reaper = Reaper()
    run = ChildProcess(
        program("print('first line'); print('2nd')"), tmp_path / "a.log", reaper, lambda _line: None
    )
    assert run.wait() == 0
    reaper.close()
    assert (tmp_path / "a.log.1").read_text() == "first line\n"
    assert (tmp_path / "a.log").read_text() == "2nd\n"
