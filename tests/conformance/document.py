"""Writes docs/conformance.md: each statement, and the tests that show it or why there is none."""

from __future__ import annotations

from collections.abc import Iterable

from tests.conformance.gathering import ROOT, Shown
from tests.conformance.statements import EDITIONS, Statement

PATH = ROOT / "docs" / "conformance.md"
MOST_TESTS = 3
"""More than these are only counted."""

_HEAD = """# Conformance

Every normative statement of MQTT 3.1.1 and MQTT 5.0, by its id in the standards' appendix B, and the tests that show
it, or why it does not apply. *On* tells whose duty a statement is: what clients must do is tried on both sides where
it can be, on our own client and on what the gateway does with a client that does not. The words are ours; the standards
are [3.1.1](https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/mqtt-v3.1.1.html) and
[5.0](https://docs.oasis-open.org/mqtt/mqtt/v5.0/mqtt-v5.0.html).

This page is made from the tests by `make conformance`: the statements stand in `tests/conformance/statements_*.toml`,
and a test names what it shows with `@pytest.mark.mqtt(v3="…", v5="…")`. A test fails when a statement has neither a
test nor a reason, and when this page is not what the tests say. Paths begin at `tests/`; in brackets is the one case of
a test.
"""


def document(statements: Iterable[Statement], shown: Shown, pending: dict[tuple[str, str], str]) -> str:
    """The whole page."""
    statements = list(statements)
    parts = [_HEAD]
    for edition, name in EDITIONS.items():
        rows = [statement for statement in statements if statement.edition == edition]
        tested = sum(row.key in shown for row in rows)
        excused = sum(bool(row.does_not_apply) for row in rows)
        parts.append(
            f"\n## MQTT {name}\n\n{len(rows)} statements: {tested} shown by tests, {excused} that do not apply"
            f"{_pending_count(rows, pending)}.\n\n| id | on | it says | shown by |\n|---|---|---|---|\n"
        )
        parts += [
            f"| {row.id} | {row.on} | {row.says} | {_evidence(row, shown, pending)} |\n" for row in rows
        ]
    return "".join(parts)


def _pending_count(rows: list[Statement], pending: dict[tuple[str, str], str]) -> str:
    count = sum(row.key in pending for row in rows)
    return f", {count} whose tests are being written" if count else ""


def _evidence(statement: Statement, shown: Shown, pending: dict[tuple[str, str], str]) -> str:
    if statement.does_not_apply:
        return f"*does not apply:* {statement.does_not_apply}"
    tests = shown.get(statement.key, [])
    if not tests:
        return f"*being written:* {pending.get(statement.key, 'nothing')}"
    names = [_code(test) for test in tests[:MOST_TESTS]]
    more = [f"and {len(tests) - MOST_TESTS} more"] if len(tests) > MOST_TESTS else []
    return "<br>".join(names + more)


def _code(test: str) -> str:
    return "`" + test.removeprefix("tests/").replace("|", "\\|") + "`"
