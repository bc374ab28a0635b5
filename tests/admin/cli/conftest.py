"""What the tests of several sub-commands use."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.admin.cli.identity_command import Command


@pytest.fixture
def sluicemq(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, on an empty database."""
    return Command(tmp_path, monkeypatch, capsys)


@pytest.fixture(autouse=True)
def log_of_all_tests() -> Iterator[None]:
    """A command sets up its process' log, for which this process is not its own; afterwards all is as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
