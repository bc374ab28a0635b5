"""MQTT 3.1, 3.1.1 and 5.0 without I/O: packets, bytes, and the state machines of both sides of a connection.

It never does I/O, reads a clock, logs, or knows asyncio. ``server.ServerConnection`` and
``client.ClientConnection`` are the two ways in; ``connection`` says how to drive them.
"""
