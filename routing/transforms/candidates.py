"""Candidates: one row for each (message, filter that may have a route)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.publish_record import ROUTES_DDL
from contracts.topics import Shape
from routing.columns.candidates import candidate_of_shape, candidates_of_shapes, split_shapes

_HIT_DDL = ROUTES_DDL.removeprefix("array<").removesuffix(">")


def explode_candidates(publishes: DataFrame, shapes: Sequence[Shape]) -> DataFrame:
    """Add topic, hits → topic, filter, route_key, hit_kind, node; all other columns stay, `hits` goes.

    One row in; out come one row for the topic itself, one for each shape (its filter null where the topic does not fit
    it) and one for each hit of the `routes` header. A hit carries its kind and node and has a null route key, so the
    join leaves it alone; all others have a null node. A route that is both a hit and in the table comes twice, and the
    consumer drops the second.
    """
    compiled, generic = split_shapes(shapes)
    levels = F.col("levels")
    keys = [F.col("topic"), *(candidate_of_shape(F.col("topic"), levels, shape) for shape in compiled)]
    candidates = [F.array(*map(_candidate, keys))]
    if generic:
        candidates.append(F.transform(candidates_of_shapes(F.col("topic"), levels, generic), _candidate))
    hits = F.coalesce("hits", F.array().cast(ROUTES_DDL))
    kept = [name for name in publishes.columns if name != "hits"]
    found = F.col("found")
    # A column of its own: Spark does not find common parts inside an explode, and would split once for each level.
    split = publishes.select(*kept, "hits", F.split("topic", "/").alias("levels"))
    return split.select(*kept, F.explode(F.concat(*candidates, hits)).alias("found")).select(
        *kept,
        found["filter"].alias("filter"),
        F.when(found["node"].isNull(), found["filter"]).alias("route_key"),
        found["kind"].alias("hit_kind"),
        found["node"].alias("node"),
    )


def _candidate(key: Column) -> Column:
    """A candidate in the form of a hit without a node, so that one explode does for both."""
    nothing = F.lit(None).cast("string")
    return F.struct(key.alias("filter"), nothing.alias("kind"), nothing.alias("node")).cast(_HIT_DDL)
