"""A missing or too old Java is one clear sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from admin.errors import AdminError
from admin.stack import java


@pytest.mark.parametrize(
    ("shown", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21-ea" 2023-09-19', 21),
    ],
)
def test_parse_version(shown: str, version: int) -> None:
    assert java.parse_version(shown) == version


def test_unknown_output() -> None:
    with pytest.raises(AdminError, match="does not tell its version: install Java 17"):
        java.parse_version("command not found")


def _fake(folder: Path, text: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def test_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(tmp_path, "echo 'openjdk version \"11.0.2\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(
        AdminError, match=r"is Java 11, which is too old: install Java 17 or newer \(Debian: apt-get"
    ):
        java.find_java()


def test_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = _fake(tmp_path, "echo 'openjdk version \"17.0.2\"' >&2")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(program.parent))
    assert java.find_java() == str(program)


def test_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(tmp_path, "exit 3")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(AdminError, match="does not run"):
        java.find_java()


def test_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert java.main() == 1
    assert capsys.readouterr().err.startswith("There is no Java on PATH: install Java 17 or newer")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(AdminError, match="no Java in JAVA_HOME"):
        java.find_java()
