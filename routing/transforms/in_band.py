"""In-band routes of a replay: which of those that gateways wrote into messages still count."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts import headers as h
from routing.columns.headers import HEADERS_DDL, in_band_routes, publisher_headers


def drop_in_band(records: DataFrame, filters: Collection[str] | None = None) -> DataFrame:
    """Take in-band routes out of records: headers → headers; all other columns and all rows stay.

    A header of routes that nobody can read is left alone, as the router leaves it alone.

    Args:
        records: As Spark's Kafka source gives them with `includeHeaders`, or the archive.
        filters: Only the routes of these; None takes all of them out.
    """
    headers = F.col("headers")
    hits = in_band_routes(headers)
    if filters is None:
        changed = publisher_headers(headers)
    else:
        names = F.array(*map(F.lit, sorted(filters))).cast("array<string>")
        kept = F.filter(hits, lambda hit: ~F.coalesce(F.array_contains(names, hit["filter"]), F.lit(False)))
        header = F.struct(F.lit(h.ROUTES).alias("key"), F.to_json(kept).cast("binary").alias("value"))
        last = F.when(F.size(kept) > 0, F.array(header)).otherwise(F.array().cast(HEADERS_DDL))
        changed = F.concat(publisher_headers(headers), last.cast(HEADERS_DDL))
    return records.withColumn("headers", F.when(hits.isNotNull(), changed).otherwise(headers))
