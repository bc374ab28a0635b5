"""Every normative statement has a test or a reason, and docs/conformance.md says which."""

from __future__ import annotations

import pytest

from tests.conformance.document import PATH, document
from tests.conformance.gathering import Shown, gather
from tests.conformance.statements import Statement, read_pending, read_statements


@pytest.fixture(scope="module")
def shown(request: pytest.FixtureRequest) -> Shown:
    return gather(request.session)


@pytest.fixture(scope="module")
def statements() -> list[Statement]:
    return read_statements()


def test_the_lists_are_whole(statements: list[Statement]) -> None:
    """As many as the standards have, in appendix B."""
    assert [sum(one.edition == edition for one in statements) for edition in ("v3", "v5")] == [141, 251]


def test_every_statement_has_a_test_or_a_reason(statements: list[Statement], shown: Shown) -> None:
    pending = read_pending()
    bare = [
        f"{one.edition}:{one.id} ({one.says})"
        for one in statements
        if one.key not in shown and one.key not in pending and not one.does_not_apply
    ]
    assert not bare, "tag a test that shows each, or write in its line why it does not apply"


def test_no_statement_has_both(statements: list[Statement], shown: Shown) -> None:
    pending = read_pending()
    both = [one.key for one in statements if one.key in shown and (one.does_not_apply or one.key in pending)]
    assert not both, "these have a test: take the reason out, or the line in pending.toml"


def test_tests_name_statements_that_there_are(statements: list[Statement], shown: Shown) -> None:
    known = {one.key for one in statements}
    unknown = {key: tests for key, tests in shown.items() if key not in known}
    assert not unknown
    assert not read_pending().keys() - known


def test_the_page_is_fresh(statements: list[Statement], shown: Shown, request: pytest.FixtureRequest) -> None:
    page = document(statements, shown, read_pending())
    if request.config.getoption("--write-conformance", default=False):
        PATH.write_text(page)
    assert PATH.exists(), "run make conformance"
    assert PATH.read_text() == page, "run make conformance"
