"""Who is let in, and what it may do: the gateway's side of `identity`.

    CONNECT ─► entrance ─► (providers, away from the event loop) ─► sessions
                  │
                  └─► admitted ◄── watching (the database, once a second)

Nobody gets to the sessions, or ends another connection of its client id, before it has proven who it is.
"""
