"""Sinks: Spark jobs that fold what persistent clients are owed into a store, and keep messages and statistics.

job         the sink of persistent sessions; `persisted` is what it does with the log
archive, messages, historical
            the other sinks; each has its own job
several     some or all of them in one process

Each is a composition of `contracts`, `stores` and pyspark. Nothing here imports edge, routing or admin.
"""
