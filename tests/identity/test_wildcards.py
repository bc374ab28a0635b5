"""Filters with wildcards: a pattern allows one only if it allows all topics that the filter brings."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contracts import topics
from contracts.errors import TopicError
from identity.patterns import check_pattern, matches
from identity.wildcards import allows


@pytest.mark.parametrize(
    ("pattern", "filter"),
    [
        (".*", "#"),
        (".*", "+/a/#"),
        ("a/.*", "a/+"),
        ("a/.*", "a/#"),
        ("a/.*", "a/b/+/#"),
        ("a/.+", "a/#"),
        ("a/.*?", "a/#"),
        ("a(/.*)?", "a/#"),
        ("(?i)A/.*", "a/#"),
        ("a/[^/]+", "a/+"),
        ("a/[^/]*/b", "a/+/b"),
        ("(x|a)/([^/]+/)*y", "a/+/+/y"),
        (".*/temperature", "+/temperature"),
        (".*/temperature", "+/+/temperature"),
        (r"\S+/[^/]+", "a/+"),
        (r"\D/\W[^-b][^]b]/.*", "a/!cc/#"),
        (r"a/\+/b", "a/+/b"),
        ("a/[+]/b", "a/+/b"),
        (r"\Qa/+/#\E", "a/+/#"),
        ("a/#", "a/#"),
        (r"a/\#", "a/#"),
        (r"a/\+/.*", "a/+/#"),
        ("#", "#"),
    ],
)
def test_allowed(pattern: str, filter: str) -> None:
    assert allows(pattern, filter)


@pytest.mark.parametrize(
    ("pattern", "filter"),
    [
        ("a/.*", "#"),
        ("a/.*", "+/b"),
        ("a/.*", "+/#"),
        ("[^/]+", "#"),  # one level, and the filter's text has one, but brings all
        ("a/[^/]+", "a/#"),
        ("a/[^/]+/[^/]+", "a/+/#"),
        (".", "+"),
        (".", "#"),
        ("...", "+/#"),
        (".{3}", "+/#"),
        ("a/.{1,64}", "a/+"),
        ("(.)*", "#"),
        ("a/[^s].*", "a/#"),  # all but those that begin with s
        ("a/[^s].*", "a/+"),
        ("a/[^x-z]", "a/+"),
        ("a/[^-b]", "a/+"),
        ("a/[^]b]", "a/+"),
        ("[!-.]", "#"),
        (r"\W", "#"),
        (r"\S+", "#"),
        (r"\D*", "+"),
        (r"[\W]*", "+"),
        (r"\PL*", "+"),
        (r"\P{Greek}*", "#"),
        (r"[\x00-\x{10FFFF}]*", "#"),
        (r"\C*", "#"),
        (r"a/.*\B", "a/+"),
        (r"a/\b.*", "a/+"),
        ("a/+", "a/+"),  # a +, unescaped, repeats the slash
        (r"a/\+", "a/#"),
        (r"a/\#", "a/+"),
        (".*/temperature", "+/#"),
        ("[^/]+/temperature", "+/+"),
    ],
)
def test_denied(pattern: str, filter: str) -> None:
    check_pattern(pattern)
    assert not allows(pattern, filter)


@pytest.mark.parametrize("mark", ["\U0010fffe", "\U0010ffff"])
def test_nobody_can_send_a_mark(mark: str) -> None:
    assert not allows(r"a/\+/.*", f"a/{mark}/+")
    assert not allows(".*", f"{mark}/#")
    assert not allows(r"a/\+", f"a/{mark}")


_LEVELS = st.sampled_from(["a", "b", "ab", "secret", "1", "é", "-", "x y"])
_PIECES = st.sampled_from(
    [
        "a", "b", "secret", "/", ".*", ".+", "[^/]*", "[^/]+", ".", ".?", "[^s]", "[^/a]+", r"\w+", r"\W", r"\S+",
        r"\D*", "(a|.*)", "([^/]+/)*", "(?:/.*)?", "[^]-]", r"\PL", "(?i)", "b*", r"\b", "$", "^", "[a-z]+", "[^-/]+",
    ]
)  # fmt: skip


@st.composite
def filters_and_patterns(draw: st.DrawFn) -> tuple[str, str]:
    """A filter, and a pattern whose levels have to do with the filter's, now and then."""
    levels = draw(st.lists(st.one_of(_LEVELS, st.just("+")), min_size=1, max_size=4))
    levels += draw(st.sampled_from([[], ["#"]]))
    pattern = [
        level
        if level not in ("+", "#") and draw(st.booleans())
        else "".join(draw(st.lists(_PIECES, max_size=2)))
        for level in levels
    ]
    return "/".join(levels), "/".join(pattern) or ".*"


@given(drawn=filters_and_patterns(), names=st.lists(_LEVELS, min_size=5, max_size=8))
def test_no_topic_comes_that_the_pattern_does_not_match(drawn: tuple[str, str], names: list[str]) -> None:
    """Of patterns that name no wildcard."""
    filter, pattern = drawn
    check_pattern(pattern)
    own = iter(names)
    topic = "/".join(next(own) if level in ("+", "#") else level for level in filter.split("/"))
    if filter.endswith("#"):
        topic = "/".join([topic, *own])
    assert topics.matches(filter, topic)
    if allows(pattern, filter):
        assert matches(pattern, topic)


@given(st.text("ab/+#", min_size=1, max_size=8))
def test_everything_allows_every_filter(filter: str) -> None:
    try:
        topics.validate_filter(filter)
    except TopicError:
        assume(False)
    assert allows(".*", filter)
