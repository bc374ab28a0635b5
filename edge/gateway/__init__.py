"""The gateway: an asyncio process that terminates MQTT and speaks Kafka, and does nothing else.

It may use edge.mqtt, contracts, uvloop and confluent-kafka; never Spark, never a database.
"""
