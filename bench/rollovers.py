"""When the router rolled over, from its checkpoint folder alone: the times of the files that a rollover writes."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


class RolloverWatch:
    """Collects the times of rollovers; what tells them is replaced or removed, so the folder is asked now and then.

    A generation that takes over writes `generation.json` anew, and then starts; a query that goes from batch to batch
    (`--rollover pause`) adds a file to its commit log.
    """

    def __init__(self, data: Path) -> None:
        """Watch all checkpoints of a stack's data folder."""
        self._router = data / "router"
        self._seen: set[tuple[Path, float]] = set()

    def look(self) -> None:
        """Take note of what is there now."""
        for folder, _, names in os.walk(self._router):  # It passes over folders that are removed meanwhile.
            for file in (Path(folder, name) for name in names):
                if file.name == "generation.json" or (file.parent.name == "commits" and file.name.isdigit()):
                    with suppress(FileNotFoundError):  # Spark was quicker.
                        self._seen.add((file, file.stat().st_mtime))

    def monotonic(self, wall_minus_monotonic: float) -> list[float]:
        """The times on the monotonic clock, in order."""
        return sorted(at - wall_minus_monotonic for _, at in self._seen)
