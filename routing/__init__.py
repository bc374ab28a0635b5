"""The router: a Spark Structured Streaming job that joins every message against the subscription table.

`job` is the one composition root; read it from top to bottom. `pipeline.route` is the plan, the same for batch and
stream. Nothing here runs Python for a message, and nothing imports `edge`, `sinks` or `admin`.
"""
