"""Names that come and go, in order whenever somebody asks."""

from __future__ import annotations

from collections.abc import Container


class SortedNames:
    """Sorts when it is asked, not when names come: a list that is nearly in order costs little to put right."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._added: set[str] = set()
        self._has_lost = False

    def add(self, name: str) -> None:
        """A name that was not there came."""
        self._added.add(name)

    def remove(self, name: str) -> None:
        """A name is gone."""
        self._added.discard(name)
        self._has_lost = True

    def ordered(self, present: Container[str]) -> list[str]:
        """All of them, in order; not to be changed. Args: `present` has those that are there."""
        if self._has_lost:
            added = self._added
            self._names = [name for name in self._names if name in present and name not in added]
            self._has_lost = False
        if self._added:
            self._names = sorted([*self._names, *self._added])
            self._added = set()
        return self._names
