"""What can be known of a running cluster, for the API and for `sluicemq status`: from Kafka and the databases alone.

states     what gateways and router say of themselves, read by a thread
overview   that in a few numbers, and what is amiss
nodes      gateways and router with all their details
topic_list Kafka topics, and what about them is not as it must be
kafka      Kafka topics, consumer groups and offsets
readers    who reads which Kafka topic, and how far behind it is
receivers  who would receive a message
sinks      how far the sinks' databases have the logs
cluster    all of it, opened once
"""
