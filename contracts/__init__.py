"""What the parts of SluiceMQ agree on: topic grammar, Kafka topics, and every record that stands in Kafka.

Only the standard library may be imported here, and nothing of ours: gateways, the router, sinks and notebooks
all read these definitions, and none of them may drag another's dependencies in.
"""
