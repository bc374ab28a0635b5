"""Candidate keys against the oracle: contracts.topics."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from contracts.topics import Shape, candidate_keys, matches, shape_of
from routing.columns.candidates import (
    MAX_COMPILED_DEPTH,
    MAX_COMPILED_SHAPES,
    candidate_of_shape,
    candidates_of_shapes,
    split_shapes,
)

level = st.sampled_from(["", "a", "b", "€", "$x", "a b", "\\", "x" * 40])
topic = st.lists(level, min_size=1, max_size=5).map("/".join).filter(bool)
filters = st.builds(
    lambda levels, tail: "/".join([*levels, "#"] if tail else levels),
    st.lists(st.one_of(level, st.just("+")), min_size=1, max_size=5),
    st.booleans(),
)
ONE_DATAFRAME = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def spark_keys(spark: SparkSession, topics: list[str], shapes: list[Shape], compiled: bool) -> list[set[str]]:
    name, levels = F.col("topic"), F.split("topic", "/")
    if compiled:
        keys = F.array_compact(F.array(*(candidate_of_shape(name, levels, shape) for shape in shapes)))
    else:
        keys = candidates_of_shapes(name, levels, shapes)
    rows = spark.createDataFrame([(i, t) for i, t in enumerate(topics)], "i int, topic string")
    found = {row.i: row.k for row in rows.select("i", keys.alias("k")).collect()}
    for keys_of_topic in found.values():
        assert len(set(keys_of_topic)) == len(keys_of_topic)
    return [set(found[i]) for i in range(len(topics))]


@ONE_DATAFRAME
@given(st.lists(topic, min_size=1, max_size=40), st.lists(filters, min_size=1, max_size=12))
def test_columns_agree_with_the_oracle(spark: SparkSession, topics: list[str], wanted: list[str]) -> None:
    shapes = sorted({shape for f in wanted if (shape := shape_of(f))}, key=lambda shape: shape.text)
    if not shapes:
        shapes = [Shape(0, (), True)]
    expected = [set(list(candidate_keys(t, shapes))[1:]) for t in topics]
    for compiled in (True, False):
        assert spark_keys(spark, topics, shapes, compiled) == expected
    for t, keys in zip(topics, expected, strict=True):
        for f in wanted:
            if shape_of(f) is not None:
                assert (f in keys) == matches(f, t)


def test_the_deepest_topic_is_matched(spark: SparkSession) -> None:
    deep = "/" * 65_535
    shapes = [Shape(0, (), True), Shape(2000, tuple(range(1, 2000)), True), Shape(65_536, (3,), False)]
    [keys] = spark_keys(spark, [deep], shapes, compiled=False)
    assert keys == set(list(candidate_keys(deep, shapes))[1:])


def test_a_dollar_topic_has_no_candidate_with_a_leading_wildcard(spark: SparkSession) -> None:
    shapes = [Shape(0, (), True), Shape(2, (0,), False), Shape(2, (1,), False)]
    for compiled in (True, False):
        assert spark_keys(spark, ["$SYS/a"], shapes, compiled) == [{"$SYS/+"}]


def test_many_and_deep_shapes_share_one_expression() -> None:
    few = [Shape(depth, (0,), False) for depth in range(1, 10)]
    assert split_shapes([*few, *few]) == (few, [])
    deep = Shape(MAX_COMPILED_DEPTH + 1, (0,), False)
    assert split_shapes([*few, deep]) == (few, [deep])
    many = [Shape(8, (i, j), tail) for i in range(8) for j in range(i + 1, 8) for tail in (False, True)]
    compiled, generic = split_shapes(many)
    assert len(compiled) == MAX_COMPILED_SHAPES
    assert set(compiled) | set(generic) == set(many)
    assert not set(compiled) & set(generic)
