"""No logger is given what must not stand in a log."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("edge", "identity", "routing", "stores", "sinks", "telemetry", "admin")
_LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
_SECRET = {
    "payload",
    "password",
    "secret",
    "token",
    "value",
    "authentication_data",
    "get_secret_value",
    "correlation_data",
}


def logged(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of all that loggers are given, within f-strings and calls too."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = node.func.value
        if (
            node.func.attr in _LEVELS
            and isinstance(owner, ast.Name)
            and owner.id in ("log", "_log", "logger")
        ):
            for given in [*node.args, *(keyword.value for keyword in node.keywords)]:
                for part in ast.walk(given):
                    if isinstance(part, ast.Attribute):
                        yield node.lineno, part.attr
                    elif isinstance(part, ast.Name):
                        yield node.lineno, part.id


def test_what_is_given_is_found() -> None:
    tree = ast.parse('log.warning("%s", packet.payload, extra={"a": f"{token}"})')
    assert {name for _, name in logged(tree)} >= {"payload", "token"}


@pytest.mark.parametrize("room", ROOMS)
def test_no_payload_password_or_token(room: str) -> None:
    found = [
        (str(file.relative_to(ROOT)), line, name)
        for file in (ROOT / room).rglob("*.py")
        for line, name in logged(ast.parse(file.read_text("utf-8")))
        if name in _SECRET
    ]
    assert found == []
