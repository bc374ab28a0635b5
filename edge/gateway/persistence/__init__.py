"""Delivery to sessions that outlive their connection, from `tbmq.msg.persisted` (docs/adr/0008).

`tail` reads the log, `feed` delivers to one client, `acknowledgements` writes back what became of it, `loading` finds
what a client that comes back is owed.
"""
