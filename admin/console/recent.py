"""The last minutes of the overview, as pages have asked for it: a page that is opened begins with what others saw."""

from __future__ import annotations

from collections import deque
from typing import Any

from admin.console.charts import Point

LONGEST_MS = 15 * 60_000
_GAP_MS = 30_000
"""After so long without anybody looking, a line has a gap."""


class Recent:
    """Answers of `GET /overview`, the oldest first."""

    def __init__(self) -> None:
        self._answers: deque[dict[str, Any]] = deque()

    def add(self, answer: dict[str, Any]) -> None:
        """Note an answer, unless another page noted it."""
        at_ms = answer["at_ms"]
        if self._answers and at_ms <= self._answers[-1]["at_ms"]:
            return
        self._answers.append(answer)
        while self._answers[0]["at_ms"] < at_ms - LONGEST_MS:
            self._answers.popleft()

    def points(self, *path: str) -> list[Point]:
        """How one of its figures went."""
        points: list[Point] = []
        for answer in self._answers:
            found: Any = answer
            for name in path:
                found = found[name]
            if points and answer["at_ms"] - points[-1][0] > _GAP_MS:
                points.append((points[-1][0] + 1, None))
            points.append((answer["at_ms"], found))
        return points
