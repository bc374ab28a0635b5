"""The administration's HTTP API: what operators look at and change, for the console, for scripts, and for `curl`.

It knows gateways only by what stands in Kafka and in the databases, so it works with any number of them, and may itself
run any number of times.
"""
