"""Candidate keys: for a topic, the one filter of each shape that can match it (contracts.topics.candidate_keys).

A few shapes of moderate depth, which is what systems have, become one expression each: those compile to straight Java
code. The others share one generic expression over a literal array of shapes; it is interpreted, so it is slower, but
the plan's size does not grow with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.probe_record import PROBE_KEY
from contracts.topics import Shape

MAX_COMPILED_SHAPES = 32
"""Each costs a few hundred bytes of Java code in one method, and the JVM compiles no method beyond 8,000."""
MAX_COMPILED_DEPTH = 16
"""An expression's size is proportional to its shape's depth."""


def split_shapes(shapes: Sequence[Shape]) -> tuple[list[Shape], list[Shape]]:
    """Tell shapes that get an expression of their own from those that share the generic one.

    Returns:
        (compiled, generic); together they are the distinct shapes given.
    """
    ordered = sorted(set(shapes), key=lambda shape: (shape.depth, shape.plus, shape.tail))
    compiled = [shape for shape in ordered if shape.depth <= MAX_COMPILED_DEPTH][:MAX_COMPILED_SHAPES]
    chosen = set(compiled)
    return compiled, [shape for shape in ordered if shape not in chosen]


def is_unlisted(topic: Column) -> Column:
    """Whether no leading wildcard matches a topic: it begins with `$` [MQTT-4.7.2-1], or it is a probe's key."""
    return F.startswith(topic, F.lit("$")) | F.startswith(topic, F.lit(PROBE_KEY[0]))


def candidate_of_shape(topic: Column, levels: Column, shape: Shape) -> Column:
    """The one filter of a shape that matches a topic; null where none can.

    Args:
        topic: The topic name, a string.
        levels: Its levels, an array of strings.
        shape: The shape, a literal in the plan.
    """
    parts = [
        F.lit("+") if position in shape.plus else F.get(levels, F.lit(position))
        for position in range(shape.depth)
    ]
    if shape.tail:
        parts.append(F.lit("#"))
    fits = F.size(levels) >= shape.depth if shape.tail else F.size(levels) == shape.depth
    if shape.leading_wildcard:
        fits = fits & ~is_unlisted(topic)
    return F.when(fits, F.concat_ws("/", *parts))


def candidates_of_shapes(topic: Column, levels: Column, shapes: Sequence[Shape]) -> Column:
    """The filters of any number of shapes, of any depth, that match a topic: an array without nulls."""
    table = F.array(
        *(
            F.struct(
                F.lit(shape.depth).alias("depth"),
                F.array(*map(F.lit, shape.plus)).cast("array<int>").alias("plus"),
                F.lit(shape.tail).alias("tail"),
                F.lit(shape.leading_wildcard).alias("leading"),
            )
            for shape in shapes
        )
    )
    depth = F.size(levels)

    def fits(shape: Column) -> Column:
        enough = (depth == shape["depth"]) | (shape["tail"] & (depth > shape["depth"]))
        return enough & ~(shape["leading"] & is_unlisted(topic))

    def candidate(shape: Column) -> Column:
        head = F.transform(
            F.slice(levels, F.lit(1), shape["depth"]),
            lambda level, position: F.when(F.array_contains(shape["plus"], position), "+").otherwise(level),
        )
        return F.concat_ws("/", head, F.when(shape["tail"], F.lit("#")))

    return F.transform(F.filter(table, fits), candidate)
