"""What can be known of a running cluster, for the API and for `sluicemq status`: from Kafka and the databases alone.

states     what gateways and router say of themselves, read by a thread
overview   that in a few numbers, and what is amiss
kafka      Kafka topics, consumer groups and offsets
readers    who reads which Kafka topic, and how far behind it is
sinks      how far the sinks' databases have the logs
cluster    all of it, opened once
"""
