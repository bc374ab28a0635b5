"""The data source `mqtt_messages`: `tbmq.msg.all` with the headers as typed columns.

datasource   what Spark sees
rows         one record → one row, by the contract

Its rows pass through Python. `routing.transforms.messages.read_messages` makes the same of Spark's own Kafka source
with native expressions, as batch and as stream: for more than a look, take that (docs/adr/0031-replay.md).
"""
