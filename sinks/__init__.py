"""Sinks: Spark jobs that fold the log of what persistent clients are owed into a store.

Each is a composition of `contracts`, `stores` and pyspark. Nothing here imports edge, routing or admin.
"""
