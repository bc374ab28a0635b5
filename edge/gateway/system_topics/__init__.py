"""What a gateway publishes of itself under `$SYS/brokers`, by the names that users of EMQX know.

`values` and `client_events` make topics and payloads (pure), `system_topics` publishes them. `history` writes what was
counted to a Kafka topic, for charts.
"""
