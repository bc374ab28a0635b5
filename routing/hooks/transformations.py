"""Transformations: steps that all messages take before they are routed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from routing.errors import HooksError
from routing.hooks.analysis import (
    analyzed,
    attributes,
    dataframe,
    kind,
    members,
    named,
    parse,
    said_of,
    sequence,
)
from routing.hooks.configuration import Lookup, Statement, Transformation
from routing.hooks.guarding import guarded
from routing.hooks.messages import SOURCE, WRITABLE

MESSAGES = "messages"
"""By this name SQL knows the messages."""
_FORM = "write one SELECT … FROM messages [LEFT JOIN lookup ON …] [WHERE …]"


def load_lookup(frame: DataFrame, lookup: Lookup) -> DataFrame:
    """A static table, to be sent to all executors at the start of each batch.

    Args:
        frame: Any, of the session to load it in.
        lookup: Which one.

    Raises:
        HooksError: Spark cannot load it, or it has no such key.
    """
    reader = frame.sparkSession.read.format(lookup.format).options(**lookup.options)
    if lookup.schema is not None:
        reader = reader.schema(lookup.schema)
    try:
        table = reader.load(lookup.path) if lookup.path is not None else reader.load()
        table.select(*lookup.key)
    except PySparkException as error:
        raise HooksError(said_of(f"lookup {lookup.name}", error)) from None
    return F.broadcast(table)


def transform(
    messages: DataFrame, transformation: Transformation, lookups: Mapping[str, DataFrame]
) -> tuple[DataFrame, frozenset[str]]:
    """Apply one.

    Returns:
        Messages with `_record` and what may have changed, and the names of what has.

    Raises:
        HooksError: It cannot be applied, or has what no hook may have.
    """
    place = transformation.place
    with named({MESSAGES: messages, **lookups}):
        try:
            if transformation.sql is not None:
                place = transformation.sql.place
                after = _selected(messages, transformation.sql)
            else:
                after = _called(messages, str(transformation.function), place)
        except PySparkException as error:
            raise HooksError(said_of(place, error)) from None
    after = guarded(messages, after, place)
    return after, _changed(messages, after, place)


def _selected(messages: DataFrame, sql: Statement) -> DataFrame:
    """What a SELECT gives, with `_record`, which it need not name."""
    spark = messages.sparkSession
    plan = parse(spark, sql)
    if kind(plan) != "Project":
        raise HooksError(f"{sql.place}: {_FORM}")
    frame = dataframe(spark, plan)
    if SOURCE in frame.columns:
        return frame
    jvm: Any = spark._jvm
    source = jvm.org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute.quoted(SOURCE)
    columns = sequence(spark, [*members(plan.projectList()), source])
    return dataframe(spark, jvm.org.apache.spark.sql.catalyst.plans.logical.Project(columns, plan.child()))


def _called(messages: DataFrame, name: str, place: str) -> DataFrame:
    after = load_function(name, place)(messages)
    if not isinstance(after, DataFrame):
        raise HooksError(f"{place}: {name} gave back {type(after).__name__}; return a DataFrame")
    return after


def load_function(name: str, place: str) -> Callable[[DataFrame], object]:
    """Import `package.module:function`.

    Raises:
        HooksError: There is no such function.
    """
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise HooksError(
            f"{place}: {name} cannot be imported ({error}); write package.module:function, and put the package on "
            "PYTHONPATH or into --py-files"
        ) from None
    if not callable(found):
        raise HooksError(f"{place}: {name} is no function")
    return found  # type: ignore[no-any-return]


def _changed(before: DataFrame, after: DataFrame, place: str) -> frozenset[str]:
    """Which of the columns that may change have; their types are looked at."""
    old, new = attributes(analyzed(before)), attributes(analyzed(after))
    types = {field.name: field.dataType.simpleString() for field in after.schema.fields}
    changed = set()
    for name, wanted in WRITABLE.items():
        numbers = new.get(name, old[name])
        if len(numbers) > 1:
            raise HooksError(
                f"{place}: it gives {name} twice; leave the old one out with SELECT * EXCEPT ({name})"
            )
        if numbers == old[name]:
            continue
        if types[name] != wanted and not (name == "payload" and types[name] == "string"):
            raise HooksError(f"{place}: {name} is of type {types[name]}; make it {wanted}")
        changed.add(name)
    for name in old.keys() - WRITABLE.keys() - {SOURCE}:
        if name in new and new[name] != old[name]:
            raise HooksError(
                f"{place}: {name} cannot be changed, only {', '.join(WRITABLE)}; give it another name"
            )
    return frozenset(changed)
