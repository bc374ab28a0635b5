"""Generations of the router: which one is in charge, and where it began. What makes a rollover without a pause safe.

A real-time batch sees the route table as of its start, and between two batches is a pause of up to a second. So batches
are long, and what takes their place is a *generation*: a query with a checkpoint of its own, started with a newer table
while the one before it still runs.

1. Generation n runs. A marker, which is a probe, goes through each source partition to each node, to each partition of
   the persisted log and to each application's Kafka topic (passage.py).
2. All answers have come: in each of these, all that n makes of what stands before its marker is written, in order. The
   markers' offsets are S. (Kafka keeps the order within one partition, and one task writes all of one source partition;
   so an answer proves all that comes before it there.)
3. S and the number n+1 are written down, here. From now on n+1 is in charge: after a crash at any later moment the
   router goes on with n+1, from S or from its own checkpoint.
4. n+1 starts from S. Both run. What n+1 repeats, consumers drop, for they have taken a higher offset of the same source
   partition and filter; what n repeats after n+1 likewise.
5. n+1 answers a second marker from each source partition: it has caught up. n is stopped, in mid-batch; what it still
   would have written, n+1 writes.

Nothing is lost: before S, n has written all; from S on, n+1 writes all. Nothing comes out of order: for one source
partition and filter, n+1 writes in order from S, and what n writes before S stands in the log already. Nothing comes
twice: see 4. A fresh route that n does not know is carried in-band as long as n answers probes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from routing.errors import CheckpointError

_FILE = "generation.json"
_QUARANTINE_FILE = "quarantine.json"


@dataclass(frozen=True)
class Generation:
    """One generation."""

    number: int
    """Counts from 1, over all starts of the job on one checkpoint."""
    offsets: dict[int, int] | None
    """Where it begins, by partition of `tbmq.msg.all`; None: at the beginning of all. Its checkpoint, if there is one,
    knows better."""

    def succeed(self, offsets: dict[int, int]) -> Generation:
        """The next one."""
        return Generation(self.number + 1, offsets)


FIRST = Generation(1, None)
"""The generation of a job that has never run."""


@dataclass(frozen=True)
class GenerationFolder:
    """The job's checkpoint folder: `generation.json`, a checkpoint for each generation, and `quarantine.json`."""

    path: str
    """A path of a file system that is mounted here."""

    def current(self) -> Generation:
        """The generation in charge; the first where there is none.

        Raises:
            CheckpointError: The file that tells it cannot be read.
        """
        file = Path(self.path) / _FILE
        try:
            found = json.loads(file.read_bytes())
            offsets = found["offsets"]
            return Generation(
                int(found["number"]),
                None if offsets is None else {int(partition): int(at) for partition, at in offsets.items()},
            )
        except FileNotFoundError:
            return FIRST
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"the checkpoint file {file} cannot be read ({error}): restore it from a copy, or remove {self.path} "
                "to route all that Kafka still has once more"
            ) from None

    def put_in_charge(self, generation: Generation) -> None:
        """Write down that a generation is in charge; it is on the disk when this returns.

        Raises:
            CheckpointError: It cannot be written.
        """
        self._write(_FILE, {"number": generation.number, "offsets": generation.offsets})

    def quarantine(self) -> frozenset[str]:
        """The Kafka topics that were missing when the job last ran; none where that cannot be read."""
        try:
            return frozenset(map(str, json.loads((Path(self.path) / _QUARANTINE_FILE).read_bytes())))
        except (OSError, ValueError, TypeError):
            return frozenset()  # It spares a stall and nothing more.

    def keep_quarantine(self, topics: Collection[str]) -> None:
        """Write down which Kafka topics are missing, so that the next process does not stall on them again.

        Raises:
            CheckpointError: It cannot be written.
        """
        self._write(_QUARANTINE_FILE, sorted(topics))

    def _write(self, name: str, content: object) -> None:
        file = Path(self.path) / name
        temporary = file.with_suffix(".new")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("w") as writing:
                json.dump(content, writing)
                writing.flush()
                os.fsync(writing.fileno())
            temporary.replace(file)
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint file {file} cannot be written ({error.strerror}): make {self.path} writable"
            ) from None

    def checkpoint(self, generation: Generation) -> str:
        """Where a generation's query keeps its place."""
        return str(Path(self.path) / str(generation.number))

    def forget(self, before: Generation) -> None:
        """Remove the checkpoints of older generations."""
        for folder in Path(self.path).glob("[0-9]*"):
            if folder.name.isdigit() and int(folder.name) < before.number:
                shutil.rmtree(folder, ignore_errors=True)
