"""`make conformance` is the test of the page, told to write it."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """For `make conformance`."""
    parser.addoption("--write-conformance", action="store_true", help="write docs/conformance.md anew")
