"""A pytest plugin that writes which test bears which mark `mqtt`, and runs none.

It is loaded by its bare name (`-p marks`), so it must never import anything of ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say where to write."""
    parser.addoption("--marks", metavar="FILE")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write a list of [test, positional arguments, keyword arguments] as JSON."""
    Path(session.config.getoption("--marks")).write_text(json.dumps(list(marks_of(session.items))))


def marks_of(items: Iterable[pytest.Item]) -> Iterator[tuple[str, tuple[Any, ...], Mapping[str, Any]]]:
    """The marks `mqtt` of tests: (test, positional arguments, keyword arguments)."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        for mark in item.iter_markers("mqtt"):
            # What holds for one case names the case; what holds for all names the test.
            is_of_case = callspec is not None and mark in callspec.marks
            name = item.nodeid if is_of_case else item.nodeid.partition("[")[0]
            yield name, mark.args, mark.kwargs
