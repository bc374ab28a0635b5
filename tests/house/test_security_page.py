"""docs/security.md names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"
_CLAIM = re.compile(r"\| (?P<claim>[^|]+) \| (?P<tests>[^|]*test_[^|]*) \|")
_NAMED = re.compile(r"`(?P<file>[\w/]+\.py)::(?P<test>\w+)`")


def _claims() -> dict[str, list[tuple[str, str]]]:
    """Claim → file within tests/ and the test's name."""
    return {
        found["claim"]: [(one["file"], one["test"]) for one in _NAMED.finditer(found["tests"])]
        for found in _CLAIM.finditer(PAGE.read_text("utf-8"))
    }


def test_each_claim_has_tests_that_there_are() -> None:
    claims = _claims()
    assert len(claims) >= 20
    missing = [
        (claim, file, test)
        for claim, named in claims.items()
        for file, test in named or [("", "none is named")]
        if not _is_there(ROOT / "tests" / file, test)
    ]
    assert not missing


def _is_there(file: Path, test: str) -> bool:
    return (
        file.is_file() and re.search(rf"^\s*(async )?def {test}\(", file.read_text("utf-8"), re.M) is not None
    )


def test_no_test_is_named_in_another_way() -> None:
    """What is not `file.py::test` nobody checks."""
    loose = re.findall(r"`[^`:|]*test_\w+(?:\.py)?`|`test_\w+`", PAGE.read_text("utf-8"))
    assert not loose
