"""Each record's golden bytes, and that reading undoes writing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import probe_record, publish_record, routed_record, subscription_record
from contracts.errors import ContractError, RecordError
from contracts.headers import Headers
from contracts.kafka_topics import (
    NODE_ID_PATTERN,
    KafkaTopics,
    application_suffix,
    is_plain_client_id,
    parse_topic_properties,
    subscription_partition,
)
from contracts.publish_record import MessageProperties, PublishRecord, RouteHit
from contracts.subscription_record import SubscriptionRecord

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
NAMES = TEXT.filter(bool)
PROPERTIES = st.builds(
    MessageProperties,
    message_expiry=st.none() | st.integers(0, 2**32 - 1),
    published_at_ms=st.none() | st.integers(0, 2**50),
    payload_format=st.none() | st.integers(0, 1),
    content_type=st.none() | TEXT,
    response_topic=st.none() | TEXT,
    correlation_data=st.none() | st.binary(max_size=8),
    user_properties=st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple),
)
RECORDS = st.builds(
    PublishRecord,
    topic=NAMES,
    payload=st.binary(max_size=20),
    client_id=TEXT,
    node=TEXT,
    qos=st.integers(0, 2),
    retain=st.booleans(),
    protocol=st.sampled_from([3, 4, 5]),
    properties=PROPERTIES,
    routes=st.lists(
        st.builds(RouteHit, NAMES, NAMES, st.sampled_from(["node", "node0", "device"])), max_size=3
    ).map(tuple),
)
SUBSCRIPTIONS = st.builds(
    SubscriptionRecord,
    client_id=NAMES,
    filter=NAMES,
    node=NAMES,
    qos=st.integers(0, 2),
    share_group=st.none() | st.just("group"),
    no_local=st.booleans(),
    retain_as_published=st.booleans(),
    retain_handling=st.integers(0, 2),
    subscription_id=st.none() | st.integers(1, 268_435_455),
    kind=st.sampled_from(["node", "device"]),
    online=st.booleans(),
)


def test_publish_golden() -> None:
    record = PublishRecord(
        topic="city/oslo", payload=b"\x00\xff", client_id="s1", node="gw1", qos=1, retain=True, protocol=5,
        properties=MessageProperties(20, 1_700_000_000_000, 1, "text/plain", "re/s1", b"\0\xff",
                                     (("k", "1"), ("k", "2"), ("a", ""))),
        routes=(RouteHit("city/+", "gw2"),),
    )  # fmt: skip
    assert publish_record.encode_headers(record) == [
        ("client-id", b"s1"),
        ("node", b"gw1"),
        ("protocol", b"5"),
        ("qos", b"1"),
        ("retain", b"1"),
        ("message-expiry", b"20"),
        ("published-at", b"1700000000000"),
        ("payload-format", b"1"),
        ("content-type", b"text/plain"),
        ("response-topic", b"re/s1"),
        ("correlation-data", b"\0\xff"),
        ("user-property:k", b"1"),
        ("user-property:k", b"2"),
        ("user-property:a", b""),
        ("routes", b'[{"filter":"city/+","kind":"node","node":"gw2"}]'),
    ]


def test_a_record_without_headers_is_a_message() -> None:
    assert publish_record.decode(b"t", b"p", None) == PublishRecord("t", b"p")
    assert publish_record.decode(b"t", None, [("unknown", b"\xff")]) == PublishRecord("t", b"")


@given(RECORDS)
def test_publish_reads_what_it_wrote(record: PublishRecord) -> None:
    headers = publish_record.encode_headers(record)
    assert publish_record.decode(record.topic.encode(), record.payload, headers) == record


@pytest.mark.parametrize(
    "header",
    [("qos", b"3"), ("qos", b"x"), ("qos", b""), ("protocol", b"9"), ("client-id", b"\xff"), ("message-expiry", b"-1"),
     ("payload-format", b"2"), ("routes", b"{"), ("routes", b"[1]"), ("routes", b'[{"filter":"a"}]'),
     ("routes", b"3"), ("routes", b"[" * 100_000)],
)  # fmt: skip
def test_publish_refuses_a_bad_header(header: tuple[str, bytes]) -> None:
    with pytest.raises(RecordError, match=header[0]):
        publish_record.decode(b"t", b"", [header])


def test_publish_refuses_a_key_that_is_no_text() -> None:
    with pytest.raises(RecordError, match="key"):
        publish_record.decode(b"\xff", b"", [])


def test_subscription_golden() -> None:
    record = SubscriptionRecord("c1", "a/+", "gw1", 2, "g", True, True, 1, 7)
    assert subscription_record.encode_key("c1", record.subscribed_filter) == b"c1\0$share/g/a/+"
    assert subscription_record.encode_value(record) == (
        b'{"filter":"a/+","kind":"node","node":"gw1","qos":2,"share_group":"g","no_local":true,'
        b'"retain_as_published":true,"retain_handling":1,"subscription_id":7}'
    )
    assert subscription_record.encode_value(SubscriptionRecord("c1", "a", "gw1")) == (
        b'{"filter":"a","kind":"node","node":"gw1","qos":0}'
    )
    assert subscription_record.encode_value(SubscriptionRecord("c1", "a", "gw1", 1, kind="device")) == (
        b'{"filter":"a","kind":"device","node":"gw1","qos":1}'
    )
    assert subscription_record.encode_value(
        SubscriptionRecord("c1", "a", "gw1", 1, "g", kind="device", online=False)
    ) == (b'{"filter":"a","kind":"device","node":"gw1","qos":1,"share_group":"g","online":false}')


@given(SUBSCRIPTIONS)
def test_subscription_reads_what_it_wrote(record: SubscriptionRecord) -> None:
    key = subscription_record.encode_key(record.client_id, record.subscribed_filter)
    assert subscription_record.decode_key(key) == (record.client_id, record.subscribed_filter)
    assert subscription_record.decode(key, subscription_record.encode_value(record)) == record


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"c", b"{}"), (b"c\0", b"{}"), (None, b"{}"), (b"\xff\0f", b"{}"), (b"c\0f", b"["), (b"c\0f", b"[]"),
     (b"c\0f", b'{"filter":"f"}'), (b"c\0f", b'{"filter":"f","node":"n","qos":"x"}'), (b"c\0f", b"\xff"),
     (b"c\0f", b'{"filter":"f","node":"n","qos":1e999}'), (b"c\0f", b"[" * 100_000)],
)  # fmt: skip
def test_subscription_refuses(key: bytes | None, value: bytes) -> None:
    with pytest.raises(RecordError):
        subscription_record.decode(key, value)


def test_routed_golden() -> None:
    headers: Headers = [
        ("qos", b"1"),
        ("topic", b"a/b"),
        ("id", routed_record.encode_id(3, 42)),
        ("filter", b"a/+"),
    ]
    assert headers[2] == ("id", b"3:42")
    assert routed_record.decode_route(headers) == routed_record.Route(3, 42, "a/b", "a/+")


@pytest.mark.parametrize(
    "headers",
    [None, [], [("id", b"1:2"), ("filter", b"a")], [("topic", b"a"), ("id", b"1"), ("filter", b"a")],
     [("topic", b"a"), ("id", b"1:x"), ("filter", b"a")], [("topic", b"\xff"), ("id", b"1:2"), ("filter", b"a")],
     [("id", b"1:2"), ("topic", b"a"), ("filter", b"a")], [("topic", b"a"), ("id", None), ("filter", b"a")]],
)  # fmt: skip
def test_routed_refuses(headers: Headers | None) -> None:
    with pytest.raises(RecordError):
        routed_record.decode_route(headers)


def test_probe_golden() -> None:
    headers = probe_record.encode_headers("gw1", 5)
    assert headers == [("node", b"gw1"), ("probe", b"5")]
    assert not probe_record.is_answer(headers)
    answer: Headers = [
        *headers, ("table-partition", b"1"), ("table-version", b"900"), ("generation", b"2"),
        ("topic", b"\0probe"), ("id", b"3:17"), ("filter", b"\0probe"),
    ]  # fmt: skip
    assert probe_record.is_answer(answer)
    assert probe_record.decode_answer(answer) == probe_record.ProbeAnswer(5, 3, 17, 1, 900, 2)
    with pytest.raises(RecordError, match="probe"):
        probe_record.decode_answer(answer[2:])


def test_kafka_topic_names() -> None:
    topics = KafkaTopics()
    assert [(topic.name, topic.partitions) for topic in topics.shared(6, 3, 5, 7, 8, 9)] == [
        ("tbmq.msg.all", 6),
        ("tbmq.client.subscriptions", 3),
        ("tbmq.msg.persisted", 7),
        ("tbmq.msg.shared", 8),
        ("tbmq.msg.delayed", 6),
        ("tbmq.msg.shared.state", 8),
        ("tbmq.msg.retained", 9),
        ("tbmq.client.session", 5),
        ("tbmq.client.session.event.request", 5),
        ("tbmq.sys.app.removed", 5),
        ("tbmq.sys.admin.response", 1),
        ("tbmq.sys.historical.data", 1),
        ("tbmq.sys.trace", 1),
        ("tbmq.sys.trace.steps", 1),
        ("tbmq.sys.state", 1),
    ]
    assert [(topic.name, topic.partitions) for topic in topics.of_node("gw-1")] == [
        (topics.downlink_prefix + "gw-1", 1),
        ("tbmq.msg.downlink.shared.gw-1", 1),
        ("tbmq.client.session.event.response.gw-1", 1),
        ("tbmq.client.disconnect.gw-1", 1),
    ]
    assert topics.downlink("gw-1") == "tbmq.msg.downlink.basic.gw-1"
    assert KafkaTopics("mine").publishes == "mine.msg.all"


def test_kafka_topic_settings() -> None:
    topics = {topic.name.removeprefix("tbmq."): topic.config for topic in KafkaTopics().shared()}
    compacted = {name for name, config in topics.items() if config.get("cleanup.policy") == "compact"}
    assert compacted == {
        "client.subscriptions", "client.session", "sys.app.removed", "msg.shared.state", "msg.delayed",
        "msg.retained", "sys.state",
    }  # fmt: skip
    assert topics["msg.persisted"] == {"max.message.bytes": "3145728", "retention.ms": "604800000"}
    assert topics["client.session.event.request"]["retention.ms"] == "86400000"
    hour = {topic.config["retention.ms"] for topic in KafkaTopics().of_node("n")}
    assert hour == {"3600000"}


def test_the_longest_names_are_names() -> None:
    topics = KafkaTopics("p" * 100)
    longest = [*topics.shared(), *topics.of_node("n" * 100), topics.of_application("a" * 100)]
    assert all(len(topic.name) <= 249 for topic in longest)


def test_the_kafka_topic_of_an_application() -> None:
    topics = KafkaTopics()
    assert topics.application("Billing7") == "tbmq.msg.app.Billing7"
    hashed = topics.application("billing/é")
    assert hashed == "tbmq.msg.app.id-08548bb170bdc5df3a672f40ab4880f8"
    assert re.fullmatch(NODE_ID_PATTERN, hashed.removeprefix(topics.application_prefix))
    for strange in ("", "id-08548bb170bdc5df3a672f40ab4880f8", "a b", "a" * 101, "é", "a\n"):
        assert not is_plain_client_id(strange)
        assert application_suffix(strange).startswith("id-")
    assert topics.of_application("a").config == {"max.message.bytes": "3145728", "retention.ms": "604800000"}


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("retention.ms:1", {"retention.ms": "1"}),
        (
            " retention.ms : 1 ; cleanup.policy:compact,delete;",
            {"retention.ms": "1", "cleanup.policy": "compact,delete"},
        ),
    ],
)
def test_topic_properties(text: str, properties: dict[str, str]) -> None:
    assert parse_topic_properties(text) == properties


@pytest.mark.parametrize("text", ["x", "a:", ":1", "a b:1", "a:1;b"])
def test_what_is_no_topic_property(text: str) -> None:
    with pytest.raises(ContractError, match="name:value"):
        parse_topic_properties(text)


@pytest.mark.parametrize(("given", "found"), [("1", "3145728"), ("x", "3145728"), ("4000000", "4000000")])
def test_an_applications_topic_takes_what_the_router_writes(given: str, found: str) -> None:  # I11
    config = KafkaTopics().of_application("a", {"max.message.bytes": given, "retention.ms": "5"}).config
    assert config == {"max.message.bytes": found, "retention.ms": "5"}


@pytest.mark.parametrize("node", ["", "a.b", "a/b", "-a", "x" * 101, "ä"])
def test_refuses_a_node_id(node: str) -> None:
    topics = KafkaTopics()
    for name in (topics.downlink, topics.share_downlink, topics.session_responses, topics.disconnects):
        with pytest.raises(ContractError, match="node id"):
            name(node)


def test_refuses_a_prefix() -> None:
    with pytest.raises(ContractError, match="prefix"):
        KafkaTopics("a b")


def test_subscription_partitions_are_pinned() -> None:
    # Changing these moves a live filter's records to another partition: a migration, not a refactoring.
    assert [subscription_partition(f, 7) for f in ("a", "a/+", "#", "city/oslo/é")] == [
        subscription_partition(f"$share/g/{f}", 7) for f in ("a", "a/+", "#", "city/oslo/é")
    ] == [4, 2, 4, 6]  # fmt: skip
