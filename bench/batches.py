"""When the router's batches were committed, from its checkpoint alone: the times of the commit log's files."""

from __future__ import annotations

from pathlib import Path


class CommitWatch:
    """Collects commit times; Spark removes old files, so it is asked now and then."""

    def __init__(self, data: Path) -> None:
        """Watch all checkpoints of a stack's data folder, so also those of overlapping generations."""
        self._router = data / "router"
        self._seen: dict[Path, float] = {}

    def look(self) -> None:
        """Take note of what is there now."""
        for file in self._router.glob("**/commits/*"):
            if file.name.isdigit():
                try:
                    self._seen.setdefault(file, file.stat().st_mtime)
                except FileNotFoundError:
                    continue  # Spark was quicker.

    def monotonic(self, wall_minus_monotonic: float) -> list[float]:
        """The commit times on the monotonic clock."""
        return sorted(at - wall_minus_monotonic for at in self._seen.values())
