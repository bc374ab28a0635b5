"""What setup.cfg asks for: what is imported, within bounds on both sides, and all of it here.

It needs no network, so that it can fail wherever `make check` runs; `make audit` asks for known holes.
"""

from __future__ import annotations

import ast
import configparser
import sys
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
ROOMS = ("contracts", "edge", "identity", "routing", "stores", "sinks", "telemetry", "admin")
"""What users run; bench and tests may use more."""
_UPPER, _LOWER = {"<", "<=", "=="}, {">=", "=="}


def _setup() -> configparser.ConfigParser:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return setup


def _requirements(text: str) -> list[Requirement]:
    lines = [line.strip() for line in text.splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def _runtime() -> list[Requirement]:
    setup = _setup()
    extras = setup["options.extras_require"]
    texts = (
        setup["options"]["install_requires"],
        *(extras[name] for name in ("spark", "embedded", "postgresql", "admin")),
    )
    return _requirements("\n".join(texts))


def _all() -> list[Requirement]:
    return _runtime() + [
        one for text in _setup()["options.extras_require"].values() for one in _requirements(text)
    ]


def _imported(file: Path) -> set[str]:
    """The top names of what a file imports, at its top or within."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("one", _runtime(), ids=lambda one: one.name)
def test_each_has_bounds(one: Requirement) -> None:
    """Below it nobody has tried it; above it may do something else, or be somebody else's."""
    operators = {specifier.operator for specifier in one.specifier}
    assert operators & _LOWER
    assert operators & _UPPER


@pytest.mark.parametrize("one", _all(), ids=str)
def test_each_comes_from_the_registry_and_is_here(one: Requirement) -> None:
    assert one.url is None
    assert version(one.name) in one.specifier


def test_nothing_is_imported_that_is_not_asked_for() -> None:
    """What comes along with something else may be gone with its next version, or be replaced."""
    asked = {canonicalize_name(one.name) for one in _runtime()}
    owners = packages_distributions()
    unasked: dict[str, str] = {}
    for room in ROOMS:
        for file in (ROOT / room).rglob("*.py"):
            for name in _imported(file) - set(ROOMS) - sys.stdlib_module_names:
                if not {canonicalize_name(owner) for owner in owners.get(name, [])} & asked:
                    unasked[name] = str(file.relative_to(ROOT))
    # The demo says in one sentence which extra is missing; py4j is a part of Spark, whose version is fixed.
    assert unasked.keys() <= {"vega_datasets", "pandas", "py4j"}, unasked
