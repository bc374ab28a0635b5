"""Hooks: a user's own native transformations and rules, between reading messages and routing them.

`configuration` reads the file, `messages` is what a hook sees, `guarding` says what a hook's plan may have and keeps
probes out of its reach, `transformations` and `rules` are the two kinds, `hooks` puts them together. Nothing here runs
Python for a message, and a router without hooks has none of it in its plan.
"""
