"""The data source `mqtt_routes`: the subscription table as a live DataFrame, for the router and for notebooks.

datasource   what Spark sees: one reader for each partition of `tbmq.client.subscriptions`
partition    one reading of one partition: snapshot + tail → rows and a version
kafka        end offsets, the tail, and what else Kafka is asked
changes      records → Arrow, the last one of each key
table        Arrow in, Arrow out: merge, distinct, shapes, version
snapshot     the host-local file that makes an unchanged table cheap
"""
