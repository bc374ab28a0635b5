"""Bench: what SluiceMQ does in a second, each figure beside its peers' in the same run. `make bench` runs all of it.

Load generators are processes of their own (`bench.load`), so that they share an interpreter neither with a broker nor
with each other. Nothing imports bench.
"""
