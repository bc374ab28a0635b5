"""Which files are the archive: a commit names all of them, and how much of Kafka they hold.

A commit is one file in `_spark_metadata`, in the form that Spark's own file sink writes and every Spark reads: whoever
reads the archive with Spark sees the files of one commit, however many others lie beside them. One entry is ours: it
names a file in `_archive` as if it were a folder, which Spark passes over. That file has the positions in Kafka, and
which files earlier commits have left out, as somebody may still be reading them.

Files are announced, in `_archive` too, before they are moved to their places. So what a crash leaves behind is known,
and is cleaned away later. Nothing here is ever changed, only added, and a commit's number can be taken once.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sinks.archive.folder import Folder, TakenError

STAGING = "_staging"
"""Where files are written, out of everybody's sight."""
_LOG, _NOTES = "_spark_metadata", "_archive"
_VERSION = "v1"
KEPT_COMMITS = 10
"""A reader lists the commits and then reads the newest: it must not be gone by then. Spark wants the last two."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file with rows of one hour."""

    path: str
    """Below the archive's folder: `date=…/hour=…/name`."""
    size: int
    modified_ms: int

    @property
    def hour(self) -> str:
        """The folder that it is in."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The archive as of one commit."""

    number: int = -1
    files: tuple[DataFile, ...] = ()
    positions: Mapping[int, int] = field(default_factory=dict)
    """Kafka partition → its next offset."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Path of a file that is no part of the archive any more → since when, ms since 1970."""


@dataclass(frozen=True, slots=True)
class Note:
    """What is about to be committed; its files may be at their places already."""

    path: str
    added: tuple[DataFile, ...]


class Commits:
    """The commits of one archive. Several processes may add to them."""

    def __init__(self, folder: Folder, clock: Callable[[], float] = time.time) -> None:
        """`clock`: seconds since 1970."""
        self._folder = folder
        self._clock = clock

    def latest(self) -> Snapshot:
        """The newest commit; an empty archive where there is none."""
        while True:
            numbers = self._numbers()
            if not numbers:
                return Snapshot()
            text = self._folder.read(_commit_path(numbers[-1]))
            if text is not None:  # else it was removed as an old one since the listing: there are newer ones
                return self._decode(numbers[-1], text)

    def announce(self, added: Sequence[DataFile]) -> Note:
        """Note which files are about to be moved to their places."""
        note = Note(f"{_NOTES}/{uuid.uuid4().hex}.json", tuple(added))
        paths = [file.path for file in added]
        self._folder.create(note.path.replace(".json", ".intent"), json.dumps({"added": paths}))
        return note

    def commit(
        self, base: Snapshot, note: Note, left_out: Iterable[str] = (), positions: Mapping[int, int] | None = None,
        forgotten: Iterable[str] = (),
    ) -> Snapshot:  # fmt: skip
        """Make a commit that follows on `base`.

        Args:
            base: The newest commit.
            note: What it adds.
            left_out: Files that are no part of it any more.
            positions: Where Kafka's partitions stand; None: as in `base`.
            forgotten: Of those left out earlier, what is deleted by now.

        Raises:
            TakenError: `base` is not the newest commit.
        """
        now = int(self._clock() * 1_000)
        gone = set(left_out)
        kept = tuple(file for file in base.files if file.path not in gone)
        waiting = {**base.left_out, **dict.fromkeys(gone, now)}
        for path in forgotten:
            waiting.pop(path, None)
        made = Snapshot(base.number + 1, kept + note.added, dict(positions or base.positions), waiting)
        details = {"positions": made.positions, "left_out": made.left_out}
        # Another attempt under the same note has the same number only if nothing was committed in between.
        details_path = note.path.replace(".json", f"-{made.number}.json")
        self._folder.create(details_path, json.dumps(details))
        self._folder.create(_commit_path(made.number), self._encode(made, details_path))
        return made

    def withdraw(self, note: Note) -> None:
        """Remove what a note has announced, which was not committed."""
        for file in note.added:
            self._folder.delete(file.path)
        self._folder.delete(note.path.replace(".json", ".intent"))

    def clean(self, grace_seconds: float) -> set[str]:
        """Delete what nobody needs any more: old commits, files left out, and what crashes have left behind.

        Args:
            grace_seconds: How long what is left out stays, for those who read it; and how long what is not committed
                is held for the beginning of a commit.

        Returns:
            The files left out that are deleted.
        """
        snapshot = self.latest()
        before_ms = int((self._clock() - grace_seconds) * 1_000)
        current = {file.path for file in snapshot.files}
        deleted = {path for path, at_ms in snapshot.left_out.items() if at_ms <= before_ms} - current
        for path in deleted:
            self._folder.delete(path)
        for number in self._numbers()[:-KEPT_COMMITS]:
            self._folder.delete(_commit_path(number))
        kept = set(self._numbers())
        for found in [*self._folder.list(_NOTES), *self._folder.list(STAGING)]:
            if found.modified_ms > before_ms or _number_of(found.path) in kept:
                continue
            if found.path.endswith(".intent"):
                announced = json.loads(self._folder.read(found.path) or "{}").get("added", [])
                for path in set(announced) - current - set(snapshot.left_out):
                    self._folder.delete(path)
            self._folder.delete(found.path)
        return deleted

    def _numbers(self) -> list[int]:
        names = (found.path.rpartition("/")[2].partition(".") for found in self._folder.list(_LOG))
        return sorted(int(number) for number, _, kind in names if kind == "compact" and number.isdecimal())

    def _encode(self, snapshot: Snapshot, details_path: str) -> str:
        entries = [self._entry(details_path, 0, 0, is_folder=True)]
        entries += [self._entry(file.path, file.size, file.modified_ms) for file in snapshot.files]
        return "\n".join([_VERSION, *entries])

    def _entry(self, path: str, size: int, modified_ms: int, *, is_folder: bool = False) -> str:
        entry = {
            "path": self._folder.url(path),
            "size": size,
            "isDir": is_folder,
            "modificationTime": modified_ms,
            "blockReplication": 1,
            "blockSize": 128 << 20,
            "action": "add",
        }
        return json.dumps(entry)

    def _decode(self, number: int, text: str) -> Snapshot:
        details: dict[str, Any] = json.loads(self._folder.read(self._note_of(text)) or "{}")
        entries = [json.loads(line) for line in text.splitlines()[1:]]
        # By their ends: an archive that was moved to another place names the old one until its next commit.
        files = tuple(
            DataFile("/".join(entry["path"].split("/")[-3:]), entry["size"], entry["modificationTime"])
            for entry in entries
            if not entry["isDir"]
        )
        positions = {int(partition): offset for partition, offset in details["positions"].items()}
        return Snapshot(number, files, positions, details["left_out"])

    def _note_of(self, text: str) -> str:
        first = json.loads(text.splitlines()[1])
        return f"{_NOTES}/{first['path'].rpartition('/')[2]}"


def _commit_path(number: int) -> str:
    return f"{_LOG}/{number}.compact"


def _number_of(details_path: str) -> int | None:
    """The commit that a file of details was written for."""
    number = details_path.removesuffix(".json").rpartition("-")[2]
    return int(number) if details_path.endswith(".json") and number.isdecimal() else None


__all__ = ["KEPT_COMMITS", "Commits", "DataFile", "Note", "Snapshot", "TakenError"]
