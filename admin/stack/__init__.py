"""The embedded stack: Kafka, the router and the gateways as child processes of one supervisor.

`java` and `jars` are used by `make venv` before anything is installed: they import the standard library only.
"""
