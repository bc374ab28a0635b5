"""Shared subscriptions of the whole cluster: one dispatcher per group chooses who gets a message (docs/adr/0013).

`groups` knows the members, `dispatch` decides (pure), `strategies` are the ways to choose among members that are
connected, `partition` keeps in Kafka what was decided, `dispatcher` is the thread that does both; `backlogs`,
`releases` and `returning` bring messages back to a group that nobody has taken yet.
"""
