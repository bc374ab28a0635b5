"""The wheel has all of the packages, and works as executors use it: as a file on Python's path."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from admin.stack.wheel import SOURCE, build_wheel, packages


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_what_is_in_it(wheel: Path) -> None:
    there = {
        path.relative_to(SOURCE).as_posix()
        for package in packages()
        for path in (SOURCE / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith("sluicemq-")}
    assert packed == there


def test_a_new_one_takes_the_place_of_the_old(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "sluicemq-0.0.1-py3-none-any.whl").touch()
    assert build_wheel(tmp_path).name == wheel.name
    assert [path.name for path in tmp_path.iterdir()] == [wheel.name]


@pytest.mark.parametrize(
    "program",
    [
        "import routing.routes.daemon as used",
        "import sinks.daemon as used",
        # Its tables are made by scripts, which Alembic wants as files.
        "import stores as used; used.open_store('sqlite:///store.db').close()",
        "import stores.redis as used",
    ],
)
def test_it_is_imported_from(wheel: Path, tmp_path: Path, program: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", f"{program}; print(used.__file__)"],
        env={**os.environ, "PYTHONPATH": str(wheel)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown.startswith(str(wheel))
