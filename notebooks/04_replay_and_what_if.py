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
# # 4. Replay and what-if
#
# Kafka keeps all messages for a week, and the subscriptions with their history. So the past can be routed once more:
# who would have received a message, and why; and who would, if the subscriptions were others.

# %%
import asyncio
import json
import os

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from admin.demo.client import Client
from admin.stack.jars import connector_jars
from contracts.kafka_topics import KafkaTopics
from edge.mqtt.packets import Connect, Subscription
from routing.replay.replay import Replay
from routing.sources import register_sources
from routing.transforms.messages import read_messages

stack = json.loads(os.environ["SLUICEMQ_STACK"])
gateway = stack["mqtt"][0]

# %%
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.jars", ",".join(map(str, connector_jars())))
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
register_sources(spark)

# %% [markdown]
# ## Something that happens
#
# A client wants warnings at QoS 1; three messages are published, two of them warnings.

# %%
inbox = asyncio.Queue()
reader = await Client.connect(gateway["host"], gateway["port"], Connect("replay-reader"), inbox.put_nowait)
await reader.subscribe(Subscription("replay/+/warning", 1))
publisher = await Client.connect(gateway["host"], gateway["port"], Connect("replay-publisher"))
for topic in ("replay/pump/warning", "replay/pump/pressure", "replay/valve/warning"):
    await publisher.publish(topic, b"42", 1)
received = [await asyncio.wait_for(inbox.get(), 60) for _ in range(2)]
sorted(message.topic for message in received)

# %% [markdown]
# ## The past as a table
#
# `messages` gives the records between two moments, as Kafka has them; `read_messages` shows them with typed columns.

# %%
replay = Replay(spark, stack["kafka"])
records = replay.messages().where(F.col("key").cast("string").startswith("replay/"))
columns = [
    "partition",
    "offset",
    "topic",
    F.col("payload").cast("string"),
    "qos",
    "client_id",
    "published_at",
]
read_messages(records).select(*columns).orderBy("published_at").show(truncate=False)

# %% [markdown]
# ## Who got them, and why
#
# One row for each message and client: the filter that matched, where it leads, at which QoS, and whether it stood in
# the table, or was so fresh that the message itself carried it (`in-band`).

# %%
why = ["topic", "filter", "kind", "target", "origin", "client_id", "qos"]
replay.explain(records, replay.table()).select(*why).orderBy("topic").show(truncate=False)

# %% [markdown]
# ## What if
#
# The same messages, if somebody wanted the pump's values at QoS 0, and the reader had not subscribed.

# %%
changed = replay.table(
    add=[{"client_id": "somebody", "filter": "replay/pump/#", "node": gateway["node"], "qos": 0}],
    remove=[{"client_id": "replay-reader", "filter": "replay/+/warning"}],
)
replay.explain(records, changed).select(*why).orderBy("topic").show(truncate=False)

# %% [markdown]
# And what the router would write then, under names of its own, so that no gateway reads it.

# %%
routed = replay.route(records, changed, KafkaTopics("what-if"))
routed.select("topic", F.col("value").cast("string")).show(truncate=False)

# %%
await reader.disconnect()
await publisher.disconnect()
spark.stop()
