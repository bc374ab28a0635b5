# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 2. How routing works, step by step
#
# Matching topics against filters with wildcards looks like a search. Here it is a join. This notebook takes the
# router's plan apart on a table of five subscriptions; it needs Spark, and no Kafka.

# %%
from operator import attrgetter

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import PublishRecord, encode_headers
from contracts.route_table import NODE, ROUTES_TABLE_DDL
from contracts.topics import candidate_keys, shape_of
from routing.columns.headers import HEADERS_DDL
from routing.pipeline import route
from routing.transforms.candidates import explode_candidates
from routing.transforms.publishes import read_publishes
from routing.transforms.targets import join_routes

# %%
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")

# %% [markdown]
# ## Shapes
#
# A filter's *shape* is its depth, the places of its `+`, and whether it ends in `#`. Five filters, but only three
# shapes.

# %%
filters = ["city/oslo/temperature", "city/+/temperature", "port/+/temperature", "city/#", "+/+/rain"]
shapes = sorted({shape for shape in map(shape_of, filters) if shape}, key=attrgetter("text"))
texts = [shape.text if (shape := shape_of(filter)) else None for filter in filters]
dict(zip(filters, texts, strict=True))

# %% [markdown]
# For each shape, a topic has exactly one filter that matches it. These are its *candidate keys*: all that could
# match, however many subscriptions there are.

# %%
list(candidate_keys("city/oslo/temperature", shapes))

# %% [markdown]
# ## The table
#
# One row for each filter and target. `gw1` and `gw2` are gateways; what their clients want in detail only they know.

# %%
nodes = ["gw1", "gw2", "gw2", "gw1", "gw2"]
routes = spark.createDataFrame(
    [(filter, text, NODE, node, 0, 5) for filter, text, node in zip(filters, texts, nodes, strict=True)],
    ROUTES_TABLE_DDL,
)
routes.show(truncate=False)

# %% [markdown]
# ## The messages
#
# As Spark's Kafka source gives them.

# %%
messages = [
    PublishRecord("city/oslo/temperature", b"-3", client_id="thermometer-7", qos=1),
    PublishRecord("city/bergen/rain", b"12", client_id="gauge-2"),
    PublishRecord("ship/1/position", b"59.9 10.7"),
]
records = spark.createDataFrame(
    [
        (message.topic.encode(), message.payload, encode_headers(message), 0, offset)
        for offset, message in enumerate(messages)
    ],
    f"key binary, value binary, headers {HEADERS_DDL}, partition int, offset bigint",
)

# %% [markdown]
# ## Step 1: read the topic, and explode it into its candidates
#
# One row for the topic itself and one for each shape that it fits.

# %%
candidates = explode_candidates(read_publishes(records), shapes)
candidates.select("offset", "topic", "route_key").where(F.col("route_key").isNotNull()).show(truncate=False)

# %% [markdown]
# ## Step 2: an equi-join
#
# What has a row in the table goes on. The message about the ship has none, and ends here.

# %%
targets = join_routes(candidates, routes)
targets.select("offset", "topic", "filter", "kind", "node").show(truncate=False)

# %% [markdown]
# ## Step 3: an address for each
#
# `route` is all of it, as the router runs it: the same function over a table, a micro-batch or a stream in real
# time. One record for each message, filter and gateway.

# %%
routed = route(records, routes, shapes, KafkaTopics(), generation=1)
routed.select("topic", F.col("value").cast("string"), F.col("headers.key").alias("headers")).show(
    truncate=False
)

# %% [markdown]
# The plan has native expressions only: no Python sees a message, and the table is broadcast, so nothing is shuffled.

# %%
routed.explain()

# %%
spark.stop()
