"""Failures: what a query died of, told from what Spark and Kafka say, and so what to do about it.

Spark gives an exception of a task as text only, so texts are what is looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MISSING_TOPIC = re.compile(r"Topic (\S+) not present in metadata after")
_EXPIRED = re.compile(r"Expiring \d+ record\(s\) for (\S+)-\d+:")
_TOO_LARGE = re.compile(r"RecordTooLargeException|RecordBatchTooLargeException")
_CHECKPOINT = re.compile(
    r"(?:file:)?(?P<file>/\S*?/(?:offsets|commits|metadata|sources)(?:/\S*?)?)(?=[\s,;:'\"\])]|\.\s|\.?$)",
    re.M,
)
_CHECKPOINT_SIGNS = (
    "Incomplete log file",
    "log file",
    "MISSING_BATCH",
    "batch metadata",
    "checkpoint",
    "Permission denied",
)


@dataclass(frozen=True)
class Failure:
    """Why a query ended."""

    text: str
    """All that was said, causes included."""

    @property
    def suspects(self) -> frozenset[str]:
        """Kafka topics that could not be written to, which may be because they do not exist."""
        return frozenset(_MISSING_TOPIC.findall(self.text) + _EXPIRED.findall(self.text))

    @property
    def is_too_large(self) -> bool:
        """Whether a record was too large for Kafka."""
        return _TOO_LARGE.search(self.text) is not None

    @property
    def summary(self) -> str:
        """The innermost cause in one line."""
        causes = [line.strip() for line in self.text.splitlines() if line.startswith("Caused by:")]
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        said = causes[-1].removeprefix("Caused by:").strip() if causes else (lines or ["no reason given"])[0]
        return said[:300]

    def checkpoint_file(self, checkpoint: str) -> str | None:
        """The file of the checkpoint that the failure is about; None if it is about something else."""
        if not any(sign in self.text for sign in _CHECKPOINT_SIGNS):
            return None
        for match in _CHECKPOINT.finditer(self.text):
            if match["file"].startswith(checkpoint.rstrip("/")):
                return match["file"]
        return None
