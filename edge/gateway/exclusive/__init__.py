"""`$exclusive/<filter>`: a filter that one client in the cluster may hold at a time (docs/adr/0020).

`claims` reads from the subscription log who holds what (pure), `exclusive` claims for clients of this gateway.
"""
