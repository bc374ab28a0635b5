"""Shared subscriptions of persistent APPLICATIONs, each group a Kafka consumer group on an entity (docs/adr/0014).

`entities` finds the Kafka topics that are shared, `turns` has SUBSCRIBE wait for that, `members` knows who is
connected here, `dispatch` chooses (pure), `dispatcher` is the thread that writes what was chosen, `shares` has one for
each group.
"""
