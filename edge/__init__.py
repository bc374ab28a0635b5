"""The edge: terminates MQTT and talks to Kafka. It never imports pyspark, ``routing`` or ``sinks``."""
