"""Which tests show which statement, by their marks.

A test, a class or a case (`pytest.param`) says with `@pytest.mark.mqtt(v3="3.1.0-2", v5="3.1.0-2 4.13.1-1")` what it
shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.marks import marks_of
from tests.conformance.statements import EDITIONS, StatementError

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
Shown = dict[tuple[str, str], list[str]]
"""For each statement, by edition and id, the tests that show it."""


def gather(session: pytest.Session) -> Shown:
    """Look at all tests.

    Where this run has not collected all of them, they are collected in a process of its own.

    Args:
        session: This run.

    Raises:
        StatementError: They cannot be collected, or a mark is not well formed.
    """
    shown: Shown = {}
    for test, positional, named in marks_of(session.items) if _has_all(session) else _marks():
        if positional or not named or not named.keys() <= EDITIONS.keys():
            raise StatementError(f"{test}: write @pytest.mark.mqtt(v3=..., v5=...), one of them or both")
        for edition, ids in named.items():
            for id in ids.split():
                tests = shown.setdefault((edition, id), [])
                if test not in tests:
                    tests.append(test)
    return {key: sorted(tests) for key, tests in shown.items()}


def _has_all(session: pytest.Session) -> bool:
    """Whether no argument has named a part, and none has left one out."""
    options = session.config.option
    left_out = (options.keyword, options.markexpr, options.deselect, options.ignore, options.ignore_glob)
    named = session.config.args_source != pytest.Config.ArgsSource.TESTPATHS
    return not named and not any(left_out) and not options.lf


def _marks() -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "marks.json"
        command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "marks", f"--marks={found}"]
        collecting = subprocess.run(
            [*command, "tests"],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join((str(HERE), os.environ.get("PYTHONPATH", "")))},
            capture_output=True,
            text=True,
            check=False,
        )
        if collecting.returncode:
            raise StatementError(f"the tests cannot be collected:\n{collecting.stdout}{collecting.stderr}")
        marks: list[Any] = json.loads(found.read_text())
    return marks
