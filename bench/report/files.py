"""A run's files: `latest.json`, `latest.md`, and a PNG for each plot."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from bench.figures import Figure, Result
from bench.report.plots import draw_plots
from bench.report.tables import markdown


def machine() -> str:
    """This machine in one line."""
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB of memory, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    )


def write_files(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write all; returns the files, JSON and Markdown first."""
    folder.mkdir(parents=True, exist_ok=True)
    table, text = folder / "latest.json", folder / "latest.md"
    table.write_text(json.dumps(as_json(results), indent=1, ensure_ascii=False) + "\n")
    text.write_text(markdown(results, machine()) + "\n")
    plots = [file for result in results for file in draw_plots(result, folder)]
    return [table, text, *plots]


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """All results as plain data."""
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "load_average": os.getloadavg(),
        "benches": {
            result.bench: {
                "title": result.title,
                "seconds": round(result.seconds, 1),
                "figures": [_figure(figure) for figure in result.figures],
                "details": result.details,
            }
            for result in results
        },
    }


def _figure(figure: Figure) -> dict[str, Any]:
    plain = asdict(figure)
    plain["target"] = figure.target.text if figure.target else None
    plain["is_met"] = figure.is_met
    plain["ratios"] = {peer: figure.ratio(peer) for peer in figure.peers}
    return plain
