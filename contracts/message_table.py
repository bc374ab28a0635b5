"""Messages and subscriptions as tables: the columns in which Spark shows `tbmq.msg.all` and the subscription log.

docs/kafka-format.md describes them for users.
"""

from __future__ import annotations

HIGHEST_AT_MS = 253_402_300_799_999
"""The end of the year 9999, ms since 1970: later times are in nobody's calendar, and Python could not show them."""

MESSAGES_TABLE_DDL = (
    "topic string, payload binary, qos int, retain boolean, client_id string, node string, protocol int, "
    "user_properties array<struct<name:string,value:string>>, content_type string, response_topic string, "
    "correlation_data binary, payload_format int, message_expiry bigint, published_at timestamp, will string, "
    "routes array<struct<filter:string,kind:string,node:string>>, partition int, offset bigint, timestamp timestamp"
)
"""One row per message; what each column holds is the header of that name (contracts.publish_record).

* Null: the header is missing, or holds what it can't. A missing `qos` is 0, `protocol` 5, `client_id` and `node` empty.
* `routes`: the in-band routes; null where there are none.
* `partition`, `offset`, `timestamp`: the record's place and time in Kafka.
"""

_SUBSCRIPTION = (
    "client_id string, filter string, share_group string, subscriber string, node string, qos int, no_local boolean, "
    "retain_as_published boolean, retain_handling int, subscription_id bigint, online boolean"
)

SUBSCRIPTIONS_TABLE_DDL = (
    f"{_SUBSCRIPTION}, routes array<struct<kind:string,node:string>>, table_partition int, offset bigint, "
    "changed_at timestamp"
)
"""One row per subscription, fields as in contracts.subscription_record.

* `filter`: without share prefix. `subscriber`: that record's `kind`.
* `routes`: what the subscription is routed by (contracts.route_table.routes_of); empty where it makes no route.
* `table_partition`, `offset`, `changed_at`: where its record stands, and the record's time; offset and time are null
  for one that is only assumed.
"""

CHANGES_TABLE_DDL = (
    f"change string, {_SUBSCRIPTION}, table_partition int, offset bigint, changed_at timestamp"
)
"""One row per record of the subscription log, in the log's order within a partition.

* `change`: `subscribed` (for the first time, or again with other options) or `unsubscribed`, where all but `client_id`,
  `filter` and `share_group` is null.
"""
