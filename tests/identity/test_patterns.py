"""Patterns: what may stand in them, and names in the place of placeholders."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from contracts.topics import stays_within_level
from identity.errors import InvalidError
from identity.patterns import (
    MAX_PATTERN,
    check_pattern,
    fill,
    matches,
    parts,
    placeholders_of,
)

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)


@pytest.mark.parametrize(
    "pattern",
    [
        ".*",
        "a/.*",
        "a/[^/]+/c",
        "${clientid}",
        "a/${clientid}/${username}/.*",
        "(?i)a/${clientid}",
        "(a|b)/x{2,3}",
        r"\$SYS/.*",
        r"\${clientid}",
        r"\Qa+b\E/.*",
        "[]^]/a",
        "[[:alpha:]]+",
        r"\p{Greek}\pN\x{e9}\x41\012",
        "é/漢",
    ],
)
def test_what_can_be(pattern: str) -> None:
    check_pattern(pattern)
    assert "".join(text for _, text in parts(pattern)) == pattern


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "is empty: write"),
        ("(", r"cannot be read: missing \)"),
        ("a**", "cannot be read"),
        (r"(a)\1", "cannot be read"),
        ("(?=a)", "cannot be read"),
        ("a" * (MAX_PATTERN + 1), "1001 characters"),
        ("a/${clientId}", "the only placeholders are"),
        ("a/${cn}", "the only placeholders are"),
        ("a/[${clientid}]", "move it out"),
        ("a/[^${username}]*", "move it out"),
        (r"a/\Q${clientid}\E", "move it out"),
        (r"\x{${clientid}", "cannot be read"),
        ("(?P<${clientid}>a)", "cannot be read"),
        ("\ud800", "cannot be read"),
        ("(?-s)a/.*", "leave that out"),
        ("(?i-ms:a/.*)", "leave that out"),
    ],
)
def test_what_cannot_be(pattern: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidError, match=said) as caught:
        check_pattern(pattern)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


def test_placeholders_can_be_without_meaning() -> None:
    with pytest.raises(InvalidError, match="no meaning here"):
        check_pattern("a${clientid}", placeholders=False)
    check_pattern("a.*", placeholders=False)


@pytest.mark.parametrize(
    ("pattern", "text", "matched"),
    [
        ("a/.*", "a/b/c", True),
        ("a/.*", "a/", True),
        ("a/.*", "a", False),
        ("a/.*", "xa/b", False),
        ("a", "a\n", False),
        ("a/.*", "a/b\nc", True),
        ("A", "a", False),
        ("(?i)A", "a", True),
        ("é+", "éé", True),
        ("a", "\ud800", False),
    ],
)
def test_the_whole_text_is_matched(pattern: str, text: str, matched: bool) -> None:
    assert matches(pattern, text) is matched


def test_which_placeholders() -> None:
    assert placeholders_of(r"a/${clientid}/\${username}") == {"${clientid}"}


@given(NAMES)
def test_a_name_means_itself(name: str) -> None:
    filled = fill("a/${clientid}/b", name, None)
    if filled is None:
        assert not stays_within_level(name)
    else:
        assert matches(filled, f"a/{name}/b")


@given(NAMES, NAMES)
def test_a_name_means_nothing_but_itself(name: str, other: str) -> None:
    for pattern in ("a/${username}/b", "(?i)a/${username}/b", "a/(${username}){1}/b"):
        filled = fill(pattern, "c", name)
        if filled is not None:
            assert matches(filled, f"a/{other}/b") is (other == name)


@pytest.mark.parametrize(
    "name",
    [
        ".*",
        ".+",
        "a|b",
        "(",
        ")",
        "[^/]",
        "x)|(.*",
        r"\E.*\Q",
        "$",
        "^",
        "?",
        "{1,9}",
        r"\C*",
        "\\",
        "(?i)",
        "a)|.*|(?:b",
    ],
)
def test_a_name_that_looks_like_a_pattern(name: str) -> None:
    filled = fill("a/${clientid}", name, None) or "(never)"
    assert not matches(filled, "a/b")
    assert not matches(filled, "b")
    assert not matches(filled, "")


@pytest.mark.parametrize("name", ["", "/", "a/b", "+", "#", "a+", "$", "$SYS", "$share", "a\0b", None])
def test_a_name_that_would_leave_its_level_matches_nothing(name: str | None) -> None:
    assert fill("a/${username}/.*", "c", name) is None
    assert fill("a/b/.*", "c", name) is not None


def test_names_do_not_bring_placeholders_of_their_own() -> None:
    filled = fill("a/${clientid}/${username}", "b${username}", "c")
    assert filled is not None
    assert matches(filled, "a/b${username}/c")
    assert not matches(filled, "a/bc/c")


def test_what_follows_a_placeholder_is_for_all_of_it() -> None:
    filled = fill("a/${clientid}*", "xy", None)
    assert filled is not None
    assert matches(filled, "a/xyxy")
    assert not matches(filled, "a/xyy")


def test_a_name_without_end_matches_nothing() -> None:
    filled = fill("${clientid}" * 20, "x" * 60_000, None)
    assert filled is not None
    with pytest.raises(re2.error):
        re2.compile(filled)
    assert not matches(filled, "x" * 1_200_000)
