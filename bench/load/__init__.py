"""Load generators, each a process of its own: `python -m bench.load.<name> '{arguments}'` prints its result as JSON.

They prepare bytes in advance and count bytes where others would parse, so that what they cost is not what is measured;
each tells its own CPU seconds, by which a run shows that it was not the bottleneck. MQTT 3.1.1, since that is what all
peers speak.
"""
