"""The page: what each kind of statement looks like in it."""

from __future__ import annotations

from tests.conformance.document import document
from tests.conformance.statements import Statement

STATEMENTS = [
    Statement("v3", "1.0.0-1", "server", "it is so"),
    Statement("v3", "1.0.0-2", "client", "it is not", "There is none of this."),
    Statement("v5", "1.0.0-1", "both", "it may be"),
]


def test_tests_reasons_and_what_is_being_written() -> None:
    tests = [f"tests/x/test_{name}.py::test[a|b]" for name in "abcd"]
    page = document(STATEMENTS, {("v3", "1.0.0-1"): tests}, {("v5", "1.0.0-1"): "wills"})
    assert "## MQTT 3.1.1\n\n2 statements: 1 shown by tests, 1 that do not apply.\n" in page
    assert (
        "## MQTT 5.0\n\n1 statements: 0 shown by tests, 0 that do not apply, 1 whose tests are being written.\n"
        in page
    )
    assert "| 1.0.0-1 | server | it is so | `x/test_a.py::test[a\\|b]`<br>" in page
    assert "`x/test_c.py::test[a\\|b]`<br>and 1 more |\n" in page
    assert "| 1.0.0-2 | client | it is not | *does not apply:* There is none of this. |\n" in page
    assert "| 1.0.0-1 | both | it may be | *being written:* wills |\n" in page


def test_each_edition_speaks_of_itself() -> None:
    """The same id may be another statement in the other edition."""
    page = document(STATEMENTS, {("v5", "1.0.0-1"): ["tests/y.py::test"]}, {})
    assert "| 1.0.0-1 | server | it is so | *being written:* nothing |\n" in page
    assert "| 1.0.0-1 | both | it may be | `y.py::test` |\n" in page
