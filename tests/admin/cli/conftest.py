"""What the tests of several sub-commands use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.admin.cli.identity_command import Command


@pytest.fixture
def sluicemq(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, on an empty database."""
    return Command(tmp_path, monkeypatch, capsys)
