"""What processes cost: CPU seconds and memory, read from the kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import psutil


class CpuMeter:
    """CPU seconds that named processes use from now on; noisy neighbours change it less than throughput."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        self._processes = {name: psutil.Process(pid) for name, pid in processes.items()}
        self._start: dict[str, float] = {}
        self._start = self._read()

    def seconds(self) -> dict[str, float]:
        """User and system seconds since the start, by name."""
        return {name: now - self._start[name] for name, now in self._read().items()}

    def _read(self) -> dict[str, float]:
        found = {}
        for name, process in self._processes.items():
            try:
                times = process.cpu_times()
            except (
                psutil.NoSuchProcess
            ):  # What it has used meanwhile is lost; it is no figure's main process.
                found[name] = self._start[name]
            else:
                found[name] = times.user + times.system
        return found


_MARKS = {
    "kafka.Kafka": "kafka",
    "valkey-server": "valkey",
    "routing/job.py": "router",
    "routing.routes.daemon": "router's workers",
    "pyspark.daemon": "router's workers",
    "sinks/several.py": "sink",
    "sinks.daemon": "sink's workers",
    "gateway": "gateway",
    "reaper": "reaper",
    "sluicemq": "sluicemq up",
    "admin": "administration",
}
"""What stands on a process's command line → what it is; the first that is found counts."""


def resident_bytes(pid: int) -> int:
    """Resident memory of one process."""
    return int(psutil.Process(pid).memory_info().rss)


def proportional_bytes(pids: Iterable[int]) -> dict[str, int]:
    """Proportional memory (PSS: what is shared counts by its share) of processes, by `name pid`."""
    found = {}
    for pid in pids:
        try:
            found[name_of(pid)] = int(psutil.Process(pid).memory_full_info().pss)
        except psutil.NoSuchProcess:
            continue  # It ended meanwhile, and uses nothing.
    return found


def tree(pid: int) -> list[int]:
    """A process and all its descendants."""
    root = psutil.Process(pid)
    return [pid, *(child.pid for child in root.children(recursive=True))]


def name_of(pid: int) -> str:
    """What a process is, and its id: `gateway 4711`."""
    process = psutil.Process(pid)
    words = process.cmdline()
    for mark, name in _MARKS.items():
        if any(mark in word for word in words):
            jvm = " JVM" if any("SparkSubmit" in word for word in words) else ""
            return f"{name}{jvm} {pid}"
    return f"{process.name()} {pid}"
