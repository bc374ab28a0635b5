"""Analysis: SQL and plans as Spark's own parser and analyzer have them, for hooks to be built of and looked at.

Hooks are analyzed without ANSI mode: a payload that is no number is then null to a cast, and does not end the router
with it, again after each restart (I10). Plans and expressions here are the JVM's objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn

from routing.errors import HooksError
from routing.hooks.configuration import Statement

_ANSI = "spark.sql.ansi.enabled"
_LINE = re.compile(r"line (\d+),? pos")
_LIMIT = 300

Plan = Any
"""A logical plan of the JVM's."""


@contextmanager
def lenient(spark: SparkSession) -> Iterator[None]:
    """What is analyzed in this block gives null where it cannot give a value, for as long as it runs."""
    before = spark.conf.get(_ANSI)
    spark.conf.set(_ANSI, "false")
    try:
        yield
    finally:
        spark.conf.set(_ANSI, str(before))


@contextmanager
def named(frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """In this block SQL knows these DataFrames by their names."""
    with ExitStack() as stack:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
            stack.callback(frame.sparkSession.catalog.dropTempView, name)
        yield


def parse(spark: SparkSession, sql: Statement) -> Plan:
    """Parse one statement.

    Raises:
        HooksError: It is no SQL; tells file and line.
    """
    try:
        return _session(spark).sessionState().sqlParser().parsePlan(sql.text)
    except PySparkException as error:
        raise HooksError(said_of(sql.place, error)) from None


def dataframe(spark: SparkSession, plan: Plan) -> DataFrame:
    """A DataFrame of a plan, analyzed."""
    ofrows = _jvm(spark).org.apache.spark.sql.classic.Dataset.ofRows
    return DataFrame(ofrows(_session(spark), plan), spark)


def column(spark: SparkSession, expression: Any) -> Column:
    """A column of an expression."""
    return ClassicColumn(_jvm(spark).org.apache.spark.sql.classic.ExpressionUtils.column(expression))


def analyzed(frame: DataFrame) -> Plan:
    """A DataFrame's plan."""
    return frame._jdf.queryExecution().analyzed()


def kind(node: Any) -> str:
    """The class of a plan or an expression, without its package."""
    return str(node.getClass().getSimpleName())


def sequence(spark: SparkSession, items: Iterable[Any]) -> Any:
    """A Scala sequence."""
    found = _jvm(spark).java.util.ArrayList()
    for item in items:
        found.add(item)
    return _jvm(spark).org.apache.spark.api.python.PythonUtils.toSeq(found)


def members(found: Any) -> Iterator[Any]:
    """What a Scala sequence has."""
    for at in range(found.length()):
        yield found.apply(at)


def attributes(plan: Plan) -> dict[str, list[int]]:
    """Which columns come out of a plan: the numbers of those that have a name; the same number is the same value."""
    found: dict[str, list[int]] = {}
    for one in members(plan.output()):
        found.setdefault(one.name(), []).append(one.exprId().id())
    return found


def said_of(place: str, error: PySparkException) -> str:
    """One sentence: where, which line, and what Spark said."""
    text = str(error)
    line = _LINE.search(text)
    first = text.strip().splitlines()[0].split("; line ")[0][:_LIMIT]
    return f"{place}{f', line {line[1]}' if line else ''}: {first}"


def _session(spark: SparkSession) -> Any:
    return spark._jsparkSession


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm
