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
# # 1. Messages and the record format
#
# Every MQTT message is one Kafka record: the topic name is the key, the payload is the value, and all else stands in
# headers. Nothing is wrapped, so any Kafka client can read a message, and any can write one. This notebook needs no
# Kafka: it makes records and reads them back. `docs/kafka-format.md` is the reference.

# %%
import pandas as pd

from contracts.errors import RecordError
from contracts.publish_record import MessageProperties, PublishRecord, RouteHit, decode, encode_headers
from contracts.routed_record import decode_id, encode_id

# %% [markdown]
# A thermometer in Oslo publishes at QoS 1, with MQTT 5's content type and a property of its own.

# %%
reading = PublishRecord(
    topic="city/oslo/temperature",
    payload=b"-3",
    client_id="thermometer-7",
    node="gw1",
    qos=1,
    properties=MessageProperties(content_type="text/plain", user_properties=[("unit", "celsius")]),
)
pd.DataFrame(encode_headers(reading), columns=["header", "value"])

# %% [markdown]
# Key, value and headers are all there is. Reading them gives the message again.

# %%
record = (reading.topic.encode(), reading.payload, encode_headers(reading))
decode(*record)

# %% [markdown]
# ## Who writes without a gateway
#
# Every header may be missing. A service that produces to `tbmq.msg.all` with any Kafka library publishes to MQTT
# clients: what it leaves out has its default, here QoS 0 and no client id.

# %%
decode(b"city/oslo/forecast", b"snow", [])

# %% [markdown]
# ## Fresh routes travel along
#
# The router's table is as old as its generation. A gateway that knows of a newer subscription that matches puts it
# into the last header, so that the message finds its way from the moment of the SUBACK.

# %%
fresh = PublishRecord(
    topic="city/oslo/temperature", payload=b"-2", routes=[RouteHit("city/+/temperature", "gw2")]
)
encode_headers(fresh)[-1]

# %% [markdown]
# ## One message has one name
#
# Its place in `tbmq.msg.all` goes with it as the header `id`, so whoever gets it twice can tell.

# %%
encode_id(partition=2, offset=1234), decode_id(b"2:1234")

# %% [markdown]
# ## What cannot be read says why
#
# A reader passes over a malformed record and goes on with the next.

# %%
try:
    decode(b"city/oslo/temperature", b"-3", [("qos", b"3")])
except RecordError as error:
    print(error)
