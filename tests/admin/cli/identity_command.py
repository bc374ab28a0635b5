"""Runs the sub-commands of identity as a script does, on a database of the test's own."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from admin.cli.main import main


@dataclass(frozen=True)
class Result:
    """What came of a command."""

    status: int
    out: str
    err: str


class Command:
    """`sluicemq`, with SLUICEMQ_DATABASE set."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With a database that is not there yet, in `folder`."""
        self.folder = folder
        self.url = f"sqlite:///{folder}/identity.db"
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.setenv("SLUICEMQ_DATABASE", self.url)

    def __call__(self, line: str, *more: str, stdin: str | bytes = "") -> Result:
        """Run it with the words of a line, and more words that may hold spaces; stdin is no terminal."""
        given = stdin if isinstance(stdin, bytes) else stdin.encode()
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8"))
        self._monkeypatch.setattr(sys, "argv", ["sluicemq", *line.split(), *more])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = self._capsys.readouterr()
        code = ended.value.code
        return Result(code if isinstance(code, int) else 0, shown.out, shown.err)

    def without_database(self) -> Command:
        """The same without SLUICEMQ_DATABASE, from now on."""
        self._monkeypatch.delenv("SLUICEMQ_DATABASE")
        return self

    def works(self, line: str, *more: str, stdin: str | bytes = "") -> Result:
        """Run it; it must succeed."""
        result = self(line, *more, stdin=stdin)
        assert result.status == 0, result
        return result

    def fails(self, line: str, *more: str, status: int, stdin: str | bytes = "") -> str:
        """Run it; it must end with this status and one sentence on stderr, which is returned."""
        result = self(line, *more, stdin=stdin)
        assert result.status == status, result
        assert result.err.startswith("sluicemq: ")
        assert result.err.count("\n") == 1
        assert result.out == ""
        return result.err

    def file(self, name: str, *lines: str) -> str:
        """The path of a new file with these lines."""
        path = self.folder / name
        path.write_text("\n".join(lines), "utf-8")
        return str(path)
