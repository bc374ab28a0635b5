"""The topic grammar, and candidate keys against `matches`, the oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import TopicError
from contracts.topics import (
    Shape,
    ShareFilter,
    candidate_keys,
    canonical_filter,
    matches,
    parse_share,
    shape_of,
    validate_filter,
    validate_topic,
)

LEVELS = st.sampled_from(["", "a", "b", "$SYS", "$x", "é", "longer level"])
TOPICS = st.lists(LEVELS, min_size=1, max_size=6).map("/".join).filter(bool)


@st.composite
def filters(draw: st.DrawFn) -> str:
    levels = draw(st.lists(st.one_of(LEVELS, st.just("+")), max_size=6))
    if not levels or draw(st.booleans()):
        levels.append("#")
    return "/".join(levels) or "/"


@pytest.mark.mqtt(v3="4.7.3-3", v5="4.7.3-3")
@pytest.mark.parametrize(
    "topic", ["a", "/", "//", "a/", "/a", " ", "a b/c", "$SYS/x", "x" * 65_535, "€" * 21_845]
)
def test_accepts_a_topic(topic: str) -> None:
    validate_topic(topic)
    validate_filter(topic)


@pytest.mark.mqtt(v3="4.7.1-1 4.7.3-1 4.7.3-2 4.7.3-3", v5="4.7.0-1 4.7.3-1 4.7.3-2 4.7.3-3")
@pytest.mark.parametrize("topic", ["", "a\0b", "a/+", "#", "a+", "x" * 65_536, "€" * 21_846])
def test_refuses_a_topic(topic: str) -> None:
    with pytest.raises(TopicError):
        validate_topic(topic)


@pytest.mark.mqtt(v3="4.7.1-2 4.7.1-3", v5="4.7.1-1 4.7.1-2")
@pytest.mark.parametrize(
    "filter",
    [
        "#",
        "+",
        "/#",
        "+/+",
        "a/+/#",
        "+/a",
        "$share/g/#",
        "$share/g//",
        "$queue/#",
        "$queue//",
        "$queue",
        "$SYS/#",
    ],
)
def test_accepts_a_filter(filter: str) -> None:
    validate_filter(filter)


@pytest.mark.mqtt(v3="4.7.1-2 4.7.1-3 4.7.3-1 4.7.3-2", v5="4.7.1-1 4.7.1-2 4.7.3-1 4.7.3-2 4.8.2-1 4.8.2-2")
@pytest.mark.parametrize(
    "filter",
    ["", "a#", "#/a", "a/#/b", "a+/b", "+a", "##", "a/b#", "a\0", "$share/", "$share/g", "$share/g/", "$share//a",
     "$share/g+/a", "$share/g#/a", "$share/g/a#", "$queue/", "$queue/a#", "$queue/" + "x" * 65_522],
)  # fmt: skip
def test_refuses_a_filter(filter: str) -> None:
    with pytest.raises(TopicError):
        validate_filter(filter)


def test_takes_a_share_apart() -> None:
    assert parse_share("$share/group/a/+/b") == ShareFilter("group", "a/+/b")
    assert parse_share("$share/group//") == ShareFilter("group", "/")
    assert parse_share("$shared/group/a") is None


def test_a_queue_is_the_group_of_that_name() -> None:
    assert parse_share("$queue/a/#") == parse_share("$share/$queue/a/#") == ShareFilter("$queue", "a/#")
    assert canonical_filter("$queue/a/#") == "$share/$queue/a/#"
    for other in ("$share/$queue/a", "$share/g/$queue/a", "a/$queue/b", "$queue", "$queued/a", "a"):
        assert canonical_filter(other) == other
    validate_filter("$queue/" + "x" * 65_521)  # with which the canonical form is as long as a string may be


@pytest.mark.mqtt(v3="4.7.2-1 4.7.3-4", v5="4.7.2-1 4.7.3-4")
@pytest.mark.parametrize(
    ("filter", "topic", "expected"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/b/", False),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("a/#", "ab", False),
        ("#", "/", True),
        ("+", "a", True),
        ("+", "/", False),
        ("+/+", "/", True),
        ("/+", "/a", True),
        ("+", "", True),
        ("#", "$SYS/x", False),
        ("+/x", "$SYS/x", False),
        ("$SYS/#", "$SYS/x", True),
        ("$SYS/+", "$SYS/x", True),
        ("a/+/c", "a//c", True),
        ("a/+/#", "a", False),
        ("a/+/#", "a/b", True),
        ("A", "a", False),
        ("a", "a ", False),
        ("caf\u00e9", "cafe\u0301", False),
        ("\u2126", "\u03a9", False),
        ("+/\ufeff", "a/", False),
    ],
)
def test_matches(filter: str, topic: str, expected: bool) -> None:
    assert matches(filter, topic) is expected


def test_many_levels_need_no_recursion() -> None:
    topic = "/" * 65_535
    deep = "/".join(["+"] * 2_000)
    assert matches("#", topic)
    assert list(candidate_keys(topic, [shape for f in ("#", deep) if (shape := shape_of(f))])) == [topic, "#"]


@pytest.mark.parametrize(
    ("filter", "text"),
    [("#", "0::#"), ("+", "1:0:"), ("a/+/c", "3:1:"), ("a/#", "1::#"), ("+/a/+/#", "3:0,2:#")],
)
def test_shape_text(filter: str, text: str) -> None:
    shape = shape_of(filter)
    assert shape is not None
    assert shape.text == text
    assert Shape.parse(text) == shape


@pytest.mark.parametrize("text", ["", "1", "x::#", "1:0:+", "1:a:", "1:0:#:"])
def test_refuses_what_is_no_shape(text: str) -> None:
    with pytest.raises(TopicError, match="not a shape"):
        Shape.parse(text)


def test_exact_filters_have_no_shape() -> None:
    assert shape_of("a/b") is None


@given(filter=filters(), topic=TOPICS)
def test_candidates_agree_with_the_oracle(filter: str, topic: str) -> None:
    shape = shape_of(filter)
    keys = list(candidate_keys(topic, [shape] if shape else []))
    assert (filter in keys) is matches(filter, topic)


@pytest.mark.mqtt(v3="3.3.2-3", v5="3.3.2-3")
@given(filters=st.lists(filters(), max_size=8), topic=TOPICS)
def test_candidates_are_distinct_and_all_match(filters: list[str], topic: str) -> None:
    keys = list(candidate_keys(topic, {shape for f in filters if (shape := shape_of(f))}))
    assert len(keys) == len(set(keys))
    assert all(matches(key, topic) for key in keys)
