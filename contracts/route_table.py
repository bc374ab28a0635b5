"""The route table: the schema of the `mqtt_routes` data source, the router's static side."""

ROUTES_TABLE_DDL = (
    "route_key string, shape string, kind string, node string, table_partition int, table_version bigint"
)
"""One row per (filter, target).

* `route_key`: the filter without share prefix; joined against a topic's candidate keys.
* `shape`: the filter's shape as `contracts.topics.Shape.text`; null where it has no wildcard.
* `kind`: `node`, or `probe` for the row that answers probes.
* `node`: the target's node id; null for the probe row, whose answer goes to the node that asked.
* `table_partition`: the partition of `tbmq.client.subscriptions` that the row comes from.
* `table_version`: the row's reader has read that partition up to this offset (exclusive).
"""
