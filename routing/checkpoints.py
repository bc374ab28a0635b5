"""What Spark keeps in a query's checkpoint, read as its query is over: which file of it is damaged, if one is.

Spark says of some damage only what it has stumbled upon, not where. A file that it passes over is no business of this.
"""

from __future__ import annotations

import json
from pathlib import Path

_VERSION = "v1"
"""The first line of each file of a log."""
_NOTHING = "-"
"""What stands for a source that has given nothing yet."""
_LOGS = {"offsets": 2, "commits": 1}
"""By log, how many lines of JSON an entry has at least: what the batch was planned with, and each source's offsets."""


def damaged_file(checkpoint: Path) -> Path | None:
    """The first file that a restart needs and cannot use; None where they are as they should be.

    Args:
        checkpoint: A query's own folder. A query that has not got so far yet lacks some of it.
    """
    metadata = checkpoint / "metadata"
    if metadata.exists() and not _are_objects([_text(metadata)]):
        return metadata
    for name, lines in _LOGS.items():
        entries = sorted(int(path.name) for path in (checkpoint / name).glob("[0-9]*") if path.name.isdigit())
        if entries and not _is_entry(checkpoint / name / str(entries[-1]), lines):
            return checkpoint / name / str(entries[-1])
        # The newest batch may have to be made again, and it begins where the one before it ends.
        if name == "offsets" and entries and entries[-1] > 0:
            before = checkpoint / name / str(entries[-1] - 1)
            if not _is_entry(before, lines):
                return before
    return None


def _is_entry(file: Path, lines: int) -> bool:
    version, *entry = _text(file).split("\n")
    return version == _VERSION and len(entry) >= lines and _are_objects(entry)


def _are_objects(texts: list[str]) -> bool:
    try:
        return all(text == _NOTHING or isinstance(json.loads(text), dict) for text in texts)
    except ValueError:
        return False


def _text(file: Path) -> str:
    """What stands in a file; nothing where there is none."""
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
