"""What every process shows beside its own metrics."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Info,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from telemetry.version import installed_version


def process_registry(part: str, **about: str) -> CollectorRegistry:
    """A registry with what the system says of the process, and `sluicemq_process_info`.

    Args:
        part: What it is: `gateway`, `router`, `sink` or `admin`.
        about: What tells it from others, such as `node`.
    """
    disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more for each counter, which the process' start time tells as well
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    info = Info("sluicemq_process", "What this process is; its value is always 1.", registry=registry)
    info.info({"part": part, "version": installed_version(), **about})
    return registry
