"""Every counter is a metric, once."""

from __future__ import annotations

from dataclasses import fields

from edge.gateway.counters import Counters
from edge.gateway.metrics.counted import COUNTED, families


def test_each_counter_stands_in_one_metric() -> None:
    used = [
        field
        for counted in COUNTED
        for field in ([counted.counters] if isinstance(counted.counters, str) else counted.counters.values())
    ]
    assert sorted(used) == sorted(field.name for field in fields(Counters))


def test_numbers_come_through() -> None:
    numbers = {field.name: number for number, field in enumerate(fields(Counters), 1)}
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in families(Counters(**numbers))
        for sample in family.samples
    }
    assert samples["sluicemq_gateway_publishes_total",] == numbers["publishes"]
    assert samples["sluicemq_gateway_deliveries_dropped_total", "slow"] == numbers["dropped_slow"]
    assert sorted(samples.values()) == sorted(numbers.values())
