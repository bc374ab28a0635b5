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
# # 3. Live routes and fan-out on a running broker
#
# The subscription table of a running broker is a DataFrame. `make notebooks` starts a broker, and tells this
# notebook where.

# %%
import asyncio
import json
import os

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from admin.demo.client import Client
from admin.stack.jars import connector_jars
from contracts.kafka_topics import KafkaTopics
from contracts.routed_record import decode_route
from edge.mqtt.packets import Connect, Subscription
from routing.routes.datasource import MqttRoutes

stack = json.loads(os.environ["SLUICEMQ_STACK"])
first, last = stack["mqtt"][0], stack["mqtt"][-1]
stack["mqtt"]

# %%
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.jars", ",".join(map(str, connector_jars())))
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
spark.dataSource.register(MqttRoutes)

# %% [markdown]
# ## Subscribe
#
# Three clients of the last gateway, with what they want.

# %%
inbox = asyncio.Queue()
wanted = {
    "notebook-oslo": "notebook/city/oslo",
    "notebook-cities": "notebook/city/+",
    "notebook-all": "notebook/#",
}
clients = [
    await Client.connect(last["host"], last["port"], Connect(name), inbox.put_nowait) for name in wanted
]
[
    await client.subscribe(Subscription(filter, 1))
    for client, filter in zip(clients, wanted.values(), strict=True)
]

# %% [markdown]
# ## The table
#
# Read anew whenever a query runs. Three clients are three rows: a row is a filter and a gateway, not a client.

# %%
routes = spark.read.format("mqtt_routes").option("kafka", stack["kafka"]).load()
ours = routes.where(F.col("route_key").startswith("notebook/"))
ours.select("route_key", "shape", "kind", "node", "table_version").show(truncate=False)

# %% [markdown]
# It is an ordinary DataFrame: here is how many filters of each shape there are, which is what matching costs.

# %%
routes.groupBy("shape").count().orderBy(F.desc("count")).show()

# %% [markdown]
# ## Publish
#
# On the first gateway, to a topic that all three filters match.

# %%
publisher = await Client.connect(first["host"], first["port"], Connect("notebook-publisher"))
await publisher.publish("notebook/city/oslo", b"-3", 1)
received = [await asyncio.wait_for(inbox.get(), 60) for _ in clients]
[(message.topic, message.payload, message.qos) for message in received]

# %% [markdown]
# ## What stands in Kafka
#
# One record came in, and the router wrote one for each filter. The header `id` says which message they are.

# %%
records = (
    spark.read.format("kafka")
    .option("kafka.bootstrap.servers", stack["kafka"])
    .option("subscribe", KafkaTopics().downlink(last["node"]))
    .option("includeHeaders", "true")
    .load()
    .where(F.col("value") == F.lit(b"-3"))
)
[decode_route([(header.key, header.value) for header in record.headers]) for record in records.collect()]

# %%
[await client.disconnect() for client in [*clients, publisher]]
spark.stop()
