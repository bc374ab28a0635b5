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
# # 5. Latency and throughput
#
# How long a message takes, and how many a second are taken. The load generators are those of `make bench`, which
# measures longer and beside other brokers; what a short run on a busy machine shows is that machine's.

# %%
import json
import os

import matplotlib.pyplot as plt

from bench.load.ingest import IngestLoad
from bench.load.latency import LatencyLoad
from bench.load.process import run
from bench.statistics import percentile

stack = json.loads(os.environ["SLUICEMQ_STACK"])
first, last = stack["mqtt"][0], stack["mqtt"][-1]
seconds = float(os.environ.get("SLUICEMQ_NOTEBOOK_SECONDS", "20"))

# %% [markdown]
# ## Latency
#
# 200 messages a second at QoS 1, from the first gateway to the last. They leave by a schedule, whether or not
# earlier ones have arrived, so a pause is charged for every message that it kept waiting.

# %%
measured = run(LatencyLoad(first["host"], first["port"], last["port"], seconds), seconds + 120)
times = [sent_at for sent_at, _ in measured["samples"]]
milliseconds = [latency * 1000 for _, latency in measured["samples"]]
{
    "sent": measured["sent"],
    "lost": measured["lost"],
    "repeated": measured["repeated"],
    **{f"p{share} ms": round(percentile(milliseconds, share), 2) for share in (50, 90, 99, 99.9)},
}

# %% [markdown]
# By percentile: the height at 50 is what half of the messages stay below.

# %%
shares = [0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9]
plt.semilogy(
    [str(share) for share in shares], [percentile(milliseconds, share) for share in shares], marker="o"
)
plt.xlabel("percentile")
plt.ylabel("ms")
plt.show()

# %% [markdown]
# And over time: peaks that come regularly are rollovers of the router's generations.

# %%
plt.plot([sent_at - times[0] for sent_at in times], milliseconds, ".", markersize=2)
plt.xlabel("seconds")
plt.ylabel("ms")
plt.show()

# %% [markdown]
# ## Throughput
#
# Publishers keep a window of QoS 1 messages under way; each acknowledgement means that Kafka has the message.

# %%
windows = [10, 100, 1000]
rates = []
for window in windows:
    load = IngestLoad(first["host"], first["port"], seconds / 4, window=window)
    taken = run(load, seconds + 120)
    rates.append(taken["messages"] / taken["seconds"])
dict(zip(windows, map(round, rates), strict=True))

# %%
plt.bar([str(window) for window in windows], rates)
plt.xlabel("messages under way of each of 8 publishers")
plt.ylabel("acknowledged a second")
plt.show()
