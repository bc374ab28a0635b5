"""Shared subscriptions of the whole cluster: one dispatcher per group chooses who gets a message (docs/adr/0013).

`groups` knows the members, `dispatch` decides (pure), `partition` keeps what was decided in Kafka, `dispatcher` is the
thread that does both, `parked` and `returns` bring messages back to a group that nobody has taken yet.
"""
