"""Rules: what makes one message more of a message, into another MQTT topic or a Kafka topic of the user's.

A rule is `SELECT … AS topic[, … AS payload][, … AS user_properties] FROM messages [WHERE …]`. Its parts become columns
of one expression for each row, so that a message and all that is made of it are written by one task, one behind the
other. What rules make is no input of rules, so there is no loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.publish_record import ROUTES_DDL
from contracts.route_table import KAFKA
from contracts.routed_record import RULE_STRIDE, RULES
from routing.errors import HooksError
from routing.hooks.analysis import analyzed, column, kind, members, parse, said_of
from routing.hooks.configuration import Rule
from routing.hooks.guarding import refuse_functions
from routing.hooks.messages import SOURCE, WRITABLE, is_topic, matching_hits, with_properties
from routing.transforms.publishes import has_room

_FORM = "write SELECT … AS topic, … AS payload FROM messages WHERE …"
_UNLISTED = "\0\0"
"""Before the topic of what goes to Kafka alone: no filter matches it."""
_PUBLISH = ("topic", "value", "headers", "partition", "offset", "hits")


def apply_rules(messages: DataFrame, rules: Sequence[Rule], exact_guard: bool) -> DataFrame:
    """Messages → publishes: one row in; out come the message itself and what each rule makes of it, in this order.

    Dropped of what rules make: what has no topic that hooks may make, and what is too large.

    Raises:
        HooksError: A rule is not of the form above, or has what no hook may have.
    """
    source = F.col(SOURCE)
    itself = F.struct(
        *(source[name].alias(name) for name in _PUBLISH), F.lit(None).cast("string").alias("way")
    )
    made = [_made(messages, rule) for rule in rules]
    rows = messages.select(F.explode(F.array(itself, *made)).alias("row")).where(F.col("row").isNotNull())
    is_made = F.col("partition") >= RULES
    kept = ~is_made | (F.coalesce(is_topic(F.col("topic")), F.lit(False)) & has_room(exact_guard))
    publishes = rows.select("row.*").where(kept)
    if not any(rule.kafka_topic for rule in rules):
        return publishes.drop("way")
    is_kafka = F.col("way").isNotNull()
    return publishes.select(
        F.when(is_kafka, F.concat(F.lit(_UNLISTED), F.col("topic"))).otherwise(F.col("topic")).alias("topic"),
        *_PUBLISH[1:5],
        F.when(is_kafka, F.array(_hit(rules))).otherwise(F.col("hits")).alias("hits"),
    )


def _hit(rules: Sequence[Rule]) -> Column:
    """The way to a Kafka topic; the rule's name stands for the filter."""
    name = F.create_map(*(F.lit(one) for rule in rules for one in (rule.number, rule.name)))
    number = F.floor((F.col("partition") - RULES) / RULE_STRIDE).cast("int")
    hit = F.struct(name[number].alias("filter"), F.lit(KAFKA).alias("kind"), F.col("way").alias("node"))
    return hit.cast(ROUTES_DDL.removeprefix("array<").removesuffix(">"))


def _made(messages: DataFrame, rule: Rule) -> Column:
    """What a rule makes of a message, as a struct like that of the message itself; null where it makes nothing."""
    selected, condition = _parts(messages, rule)
    source = F.col(SOURCE)
    wanted = messages.where(F.lit(True)).select(*selected.values())
    for field in wanted.schema.fields:
        kind_ = field.dataType.simpleString()
        if kind_ != WRITABLE[field.name] and not (field.name == "payload" and kind_ == "string"):
            raise HooksError(
                f"{rule.sql.place}: {field.name} is of type {kind_}; make it {WRITABLE[field.name]}"
            )
    topic = selected["topic"]
    headers = source["headers"]
    if "user_properties" in selected:
        headers = with_properties(headers, selected["user_properties"])
    payload = selected.get("payload", F.lit(b"")).cast("binary")
    row = F.struct(
        topic.alias("topic"),
        F.coalesce(payload, F.lit(b"")).alias("value"),
        headers.alias("headers"),
        (F.lit(RULES + rule.number * RULE_STRIDE) + source["partition"]).alias("partition"),
        source["offset"].alias("offset"),
        matching_hits(source["hits"], topic).alias("hits"),
        F.lit(rule.kafka_topic).cast("string").alias("way"),
    )
    return F.when(~source["passes_by"] & condition, row)


def _parts(messages: DataFrame, rule: Rule) -> tuple[dict[str, Column], Column]:
    """What a rule selects, by name, and its condition."""
    spark, place = messages.sparkSession, rule.sql.place
    plan = parse(spark, rule.sql)
    if kind(plan) != "Project":
        raise HooksError(f"{place}: {_FORM}")
    below, condition = plan.child(), F.lit(True)
    if kind(below) == "Filter":
        below, condition = below.child(), column(spark, below.condition())
    if kind(below) != "UnresolvedRelation" or below.name().lower() != "messages":
        raise HooksError(f"{place}: a rule reads messages and nothing else; {_FORM}")
    selected = {}
    for expression in members(plan.projectList()):
        one = column(spark, expression)
        try:
            frame = messages.select(one)
        except PySparkException as error:
            raise HooksError(said_of(place, error)) from None
        if len(frame.columns) != 1 or frame.columns[0] not in WRITABLE:
            raise HooksError(f"{place}: a rule selects {', '.join(WRITABLE)} and nothing else; {_FORM}")
        _refuse(frame, place)
        selected[frame.columns[0]] = one
    try:
        _refuse(messages.where(condition), place)
    except PySparkException as error:
        raise HooksError(said_of(place, error)) from None
    if "topic" not in selected:
        raise HooksError(f"{place}: a rule needs a topic; {_FORM}")
    return selected, condition


def _refuse(frame: DataFrame, place: str) -> None:
    plan: Any = analyzed(frame)
    if kind(plan) not in ("Project", "Filter"):
        raise HooksError(f"{place}: a rule makes one message of one message; {_FORM}")
    for expression in members(plan.expressions()):
        refuse_functions(expression, place)
