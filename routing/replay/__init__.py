"""Replay and what-if: the router's plan over messages of the past, with the table of a chosen moment or a changed one.

replay        the Python API, for notebooks
records       messages of a range, from Kafka or the archive
table         the table of a moment, with assumptions
destinations  the Kafka topics that a replay writes to
run           a replay into Kafka topics, which goes on where it was ended
job           the command `python -m routing.replay`

Nothing here writes to a Kafka topic that gateways read.
"""
