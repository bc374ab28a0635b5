"""Messages as a table: the native transform, the data source, and that both show the same."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from contracts.message_table import MESSAGES_TABLE_DDL
from contracts.probe_record import PROBE_KEY
from contracts.publish_record import (
    MessageProperties,
    PublishRecord,
    RouteHit,
    encode_headers,
)
from routing.transforms.messages import read_messages, without_probes
from tests.routing.broker import Broker

PROPERTIES = MessageProperties(
    60, 1_764_410_400_123, 1, "text/plain", "answers/ü", b"\x00\xff", [("a", "1"), ("b", "ü"), ("a", "")]
)
FULL = PublishRecord(
    "city/ü",
    b"\xfe",
    "c1",
    "gw1",
    2,
    True,
    4,
    PROPERTIES,
    [RouteHit("city/+", "n2"), RouteHit("#", "c", "device")],
)
BAD_HEADERS: list[tuple[str, bytes]] = [
    ("qos", b"3"), ("protocol", b"x"), ("client-id", b"\xff"), ("message-expiry", b"4294967296"),
    ("published-at", b"99999999999999999999"), ("payload-format", b""), ("retain", b"yes"),
    ("user-property:k", b"\xff"), ("will", b"boot/1"), ("routes", b"{"), ("content-type", b""),
]  # fmt: skip
RECORDS: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]] = [
    (b"city/\xc3\xbc", b"\xfe", encode_headers(FULL)),
    (b"plain", None, []),
    (b"twice", b"v", [("qos", b"1"), ("qos", b"2"), ("x", b"y"), ("routes", b"[]"), ("last", b"")]),
    (b"bad", b"v", BAD_HEADERS),
    (b"deep", b"v", [("routes", b'[{"filter":"f","kind":"node","node":"n"}]')]),
    (PROBE_KEY.encode(), b"", [("node", b"gw1"), ("probe", b"1")]),
    (None, b"no topic", []),
    (b"", b"no topic", []),
    (b"\xff", b"no topic", []),
]
MESSAGES = 5
AT = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


def records(spark: SparkSession) -> DataFrame:
    """As Spark's Kafka source gives them."""
    return spark.createDataFrame(
        [(*record, 1, offset, AT) for offset, record in enumerate(RECORDS)],
        "key binary, value binary, headers array<struct<key:string,value:binary>>, partition int, offset bigint, "
        "timestamp timestamp",
    )


def row(topic: str, offset: int, **others: Any) -> dict[str, Any]:
    """A message of which only what is told is no default."""
    nothing = dict.fromkeys(
        ("content_type", "response_topic", "correlation_data", "payload_format", "message_expiry", "published_at",
         "will", "routes")
    )  # fmt: skip
    default = {"payload": b"v", "qos": 0, "retain": False, "client_id": "", "node": "", "protocol": 5}
    place = {"partition": 1, "offset": offset, "timestamp": AT}
    return {"topic": topic, "user_properties": [], **nothing, **default, **place, **others}


def test_read_messages(spark: SparkSession) -> None:
    found = read_messages(records(spark))
    full = row(
        "city/ü", 0, payload=b"\xfe", client_id="c1", node="gw1", qos=2, retain=True, protocol=4,
        user_properties=list(PROPERTIES.user_properties), content_type="text/plain",
        response_topic="answers/ü", correlation_data=b"\x00\xff", payload_format=1, message_expiry=60,
        published_at=dt.datetime.fromtimestamp(1_764_410_400, dt.UTC).replace(microsecond=123_000),
        routes=[("city/+", "node", "n2"), ("#", "device", "c")],
    )  # fmt: skip
    bad = row(
        "bad", 3, qos=None, protocol=None, client_id=None, user_properties=[("k", None)], will="boot/1",
        content_type="",
    )  # fmt: skip
    expected = spark.createDataFrame(
        [
            full,
            row("plain", 1, payload=b""),
            row("twice", 2, qos=1),
            bad,
            row("deep", 4, routes=[("f", "node", "n")]),
        ],
        MESSAGES_TABLE_DDL,
    )
    assert found.schema.simpleString() == expected.schema.simpleString()
    assert_df_equality(found, expected, ignore_row_order=True, ignore_nullable=True)


def test_without_probes(spark: SparkSession) -> None:
    given = records(spark)
    kept = without_probes(given)
    assert_df_equality(kept, given.where("offset != 5"), ignore_row_order=True)


@pytest.mark.live
def test_the_data_source_shows_what_the_transform_shows(spark: SparkSession, broker: Broker) -> None:
    for key, value, headers in RECORDS:
        broker.write(key, value, headers, partition=1)
    broker.publish("a/b", b"x")
    broker.flush()
    reader = spark.read.format("mqtt_messages").option("kafka", broker.bootstrap)
    reader = reader.option("topic_prefix", broker.topics.prefix)
    native = read_messages(
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("subscribe", broker.topics.publishes)
        .option("includeHeaders", "true")
        .load()
    )
    found = reader.load().cache()
    assert found.count() == MESSAGES + 1
    assert_df_equality(found, native, ignore_row_order=True, ignore_nullable=True)
    first = reader.option("end", '{"0": 0, "1": 1}').load().collect()
    assert [one.topic for one in first] == ["city/ü"]
    assert reader.option("start", "2000-01-01T00:00Z").option("end", "latest").load().count() == MESSAGES + 1
    assert reader.option("start", "latest").load().limit(1).collect() == []


def test_the_address_of_kafka_is_asked_for(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="mqtt_messages needs the option 'kafka'"):
        spark.read.format("mqtt_messages").load().collect()
