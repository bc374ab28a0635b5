"""Who a client is, and what it may do: credentials, rules, users, blocked and unauthorized clients, in a database.

Gateways ask, the administration writes. Never imports a gateway, the router, a sink or the administration, and never
speaks to Kafka; docs/identity.md is for users.
"""
