"""A run leaves JSON that can be read again, a Markdown page, and one PNG a plot."""

from __future__ import annotations

import json
from pathlib import Path

from bench.figures import Bars, Figure, Percentiles, Result, Timeline, at_most
from bench.report.files import write_files
from bench.statistics import Sample

SAMPLES = [Sample(100 + tick / 100, 0.002 + (tick % 100) / 1e5) for tick in range(1_000)]


def test_all_is_written(tmp_path: Path) -> None:
    latencies = [sample.latency for sample in SAMPLES]
    result = Result(
        "latency",
        "Latency",
        [Figure("p50", 2.5, "ms", at_most(6), {"mosquitto": 0.5, "amqtt": None})],
        [
            Bars("Rate", "msg/s", {"SluiceMQ": 5.0, "mosquitto": 8.0}, target=4.0),
            Percentiles("Latency", {"SluiceMQ": latencies, "short": latencies[:3]}, {50.0: 0.006}),
            Timeline("Over time", SAMPLES, [105.0, 500.0]),
        ],
        {"raw": [1, 2]},
    )
    table, page, *plots = write_files([result], tmp_path / "results")
    found = json.loads(table.read_text())["benches"]["latency"]
    assert found["figures"][0]["ratios"] == {"mosquitto": 5.0, "amqtt": None}
    assert found["figures"][0]["is_met"] is True
    assert found["details"] == {"raw": [1, 2]}
    assert "| p50 | 2.50 ms | ≤ 6.00 | met | 0.50 (5.00×) | not installed |" in page.read_text()
    assert [plot.name for plot in plots] == ["latency-1.png", "latency-2.png", "latency-3.png"]
    assert all(plot.read_bytes().startswith(b"\x89PNG") for plot in plots)


def test_a_run_without_messages_still_draws(tmp_path: Path) -> None:
    result = Result("latency", "Latency", plots=[Percentiles("L", {"SluiceMQ": []}), Timeline("T", [], [])])
    assert len(write_files([result], tmp_path)) == 4
