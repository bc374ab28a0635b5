"""Chaos: numbered traffic while parts are killed and stopped at random, and a verdict on every message.

`make chaos` runs it. What it decides at random comes from its seed; when things happen is the machine's doing, so the
same seed tries the same faults in the same order, and not the same microseconds.
"""
