"""A user's function as a hook (docs/hooks.md), for the bench of hooks."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

LOOKUP = "sites"
"""The lookup that it joins: device, site."""


def with_site(messages: DataFrame) -> DataFrame:
    """Add the site of the device that a topic names to the message's user properties."""
    sites = messages.sparkSession.table(LOOKUP)
    device = F.element_at(F.split("topic", "/"), 2)
    site = F.struct(F.lit("site").alias("name"), F.col("site").alias("value"))
    joined = messages.join(sites, device == sites["device"], "left")
    return joined.withColumn("user_properties", F.array_append("user_properties", site))
