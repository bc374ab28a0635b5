"""Applications: ten thousand connected ones, with a Kafka topic each: threads, memory, CPU, how soon one hears."""

from __future__ import annotations

from admin.stack.embedded import StackOptions, embedded_stack
from bench.environment import Environment
from bench.figures import Figure, Result, at_most
from bench.load.applications import ApplicationsLoad
from bench.load.process import run
from bench.statistics import percentile

_COUNT = 10_000
_KAFKA_HEAP = 1024
"""MiB, Kafka's own default: what it knows of ten thousand topics does not fit into the embedded one's."""
_SECONDS = 900.0
"""Most of it is Kafka making ten thousand topics."""


def measure_applications(environment: Environment) -> Result:
    """10,000 connected applications on one gateway."""
    count = max(200, int(_COUNT * environment.scale))
    result = Result("applications", f"{count:,} connected persistent applications on one gateway")
    environment.stop_stack()
    options = StackOptions(
        environment.folder / "applications",
        kafka_heap=_KAFKA_HEAP,
        gateway_settings={"SLUICEMQ_APPLICATION_CLIENTS": "app.*"},
    )
    environment.tell("starting a stack")
    with embedded_stack(options) as stack:
        address = stack.mqtt[0]
        environment.tell(f"connecting {count:,} applications")
        load = ApplicationsLoad(
            address.host, address.port, stack.pid(address.node), stack.pid("kafka"), count
        )
        found = run(load, _SECONDS)
    idle = found["idle_cpu"]
    latencies = found["latencies"]
    result.figures = [
        Figure(
            "threads of the gateway",
            found["threads"],
            "",
            at_most(500.0),
            note=f"{found['threads_before']} before",
        ),
        Figure("memory of the gateway for each", found["bytes"] / count / 1024, "KiB"),
        Figure("CPU of the gateway, idle", 100 * idle["gateway"], "% of a core"),
        Figure("CPU of Kafka, idle", 100 * idle["kafka"], "% of a core"),
        Figure("first CONNECT and SUBSCRIBE, topic included", count / found["seconds"], "clients/s"),
        Figure("PUBLISH → application, QoS 1, p50", percentile(latencies, 50) * 1e3, "ms"),
        Figure("PUBLISH → application, QoS 1, p99", percentile(latencies, 99) * 1e3, "ms"),
    ]
    result.details = {"applications": found}
    return result
