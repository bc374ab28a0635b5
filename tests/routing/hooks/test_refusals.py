"""Hooks that cannot be: each is refused before a message is taken, with a sentence that says what to change."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.kafka_topics import KafkaTopics
from routing.errors import HooksError
from routing.hooks.configuration import read_configuration
from routing.hooks.hooks import Hooks


def in_python(messages: DataFrame) -> DataFrame:
    return messages.withColumn("topic", F.udf(lambda topic: topic, "string")("topic"))


def mapped(messages: DataFrame) -> DataFrame:
    return messages.mapInArrow(lambda batches: batches, messages.schema)


def joined_with_themselves(messages: DataFrame) -> DataFrame:
    return messages.join(
        messages.select(F.col("topic").alias("other")), on=F.col("other") == "a", how="inner"
    )


def without_record(messages: DataFrame) -> DataFrame:
    return messages.select("topic", "payload")


def nothing(_: DataFrame) -> str:
    return "nothing"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hooks_of_a_test", sys.modules[__name__])


def _sql(text: str) -> str:
    return f'[[transformations]]\nsql = """{text}"""\n'


def _rule(text: str) -> str:
    return f'[[rules]]\nname = "r"\nnumber = 1\nsql = """{text}"""\n'


def _function(name: str) -> str:
    return f'[[transformations]]\nfunction = "{name}"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[transformations", "not TOML"),
        ("[other]", "other is not known"),
        ("[[transformations]]", "one of sql, file and function"),
        ('[[transformations]]\nfile = "none.sql"', "none.sql cannot be read"),
        ('[[rules]]\nname = "a"\nnumber = 100\nsql = "SELECT 1"', "from 1 to 99"),
        ('[[rules]]\nname = "a"\nnumber = 1\nsql = "x"\n' * 2, "two rules have the name a"),
        ('[lookups.messages]\nformat = "csv"\nkey = ["a"]', "not messages"),
        ('[lookups.a]\nformat = "csv"', "key as a list of texts"),
    ],
)
def test_a_configuration_that_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "hooks.toml"
    file.write_text(text)
    with pytest.raises(HooksError, match=said):
        read_configuration(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_sql("SELECT topic\nFROM messages\nWHERE payload ="), "line 3: .*PARSE_SYNTAX_ERROR"),
        (_sql("SELECT\nno_such FROM messages"), "line 2: .*no_such"),
        (_sql("SELECT length(topic) AS topic FROM messages"), "topic is of type int; make it string"),
        (_sql("SELECT *, 'x' AS topic FROM messages"), r"EXCEPT \(topic\)"),
        (_sql("SELECT 2 AS qos FROM messages"), "qos cannot be changed"),
        (_sql("SELECT topic FROM messages ORDER BY topic"), "write one SELECT"),
        (_sql("SELECT topic, count(*) FROM messages GROUP BY topic"), "write one SELECT"),
        (_sql("SELECT explode(array(1, 2)) AS one FROM messages"), "several rows"),
        (_sql("SELECT uuid() AS topic FROM messages"), "another value each time"),
        (_sql("SELECT topic FROM messages WHERE received_at < now()"), "use received_at"),
        (_sql("SELECT topic FROM messages WHERE raise_error('x') IS NULL"), "fails on purpose"),
        (_sql("SELECT topic FROM messages WHERE topic IN (SELECT topic FROM messages)"), "subquery"),
        (_function("hooks_of_a_test:in_python"), "runs Python"),
        (_function("hooks_of_a_test:mapped"), "runs Python"),
        (_function("hooks_of_a_test:joined_with_themselves"), "not LEFT JOIN"),
        (_function("hooks_of_a_test:without_record"), "_record is missing"),
        (_function("hooks_of_a_test:nothing"), "return a DataFrame"),
        (_function("hooks_of_a_test:none"), "cannot be imported"),
        (_rule("SELECT payload FROM messages"), "needs a topic"),
        (_rule("SELECT topic, qos FROM messages"), "and nothing else"),
        (_rule("SELECT topic FROM others"), "reads messages and nothing else"),
        (_rule("SELECT topic FROM messages LIMIT 1"), "write SELECT"),
        (_rule("SELECT max(topic) AS topic FROM messages"), "one message of one message"),
        (_rule("SELECT topic FROM messages").rstrip() + '\nkafka_topic = "p.msg.all"\n', "broker's own"),  # noqa: S608
    ],
)
def test_a_hook_that_cannot_be(spark: SparkSession, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "hooks.toml"
    file.write_text(text)
    with pytest.raises(HooksError, match=said):
        Hooks.load(spark, file, KafkaTopics("p"))


def test_a_lookup_whose_key_tells_no_rows_apart(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "sites.csv").write_text("d1,a\nd1,b\n")
    (tmp_path / "hooks.toml").write_text(
        f'[lookups.sites]\nformat = "csv"\npath = "{tmp_path}/sites.csv"\nschema = "device string, site string"\n'
        'key = ["device"]\n'
    )
    with pytest.raises(HooksError, match="several rows for d1"):
        Hooks.load(spark, tmp_path / "hooks.toml", KafkaTopics("p"))
