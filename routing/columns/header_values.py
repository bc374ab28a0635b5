"""Single headers as typed columns, as contracts.publish_record.decode reads them; null where they hold what they can't.

For tables, not for the router's plan: to look for a dozen names in each message costs more than to route it.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts import headers as h


def header_value(headers: Column, name: str) -> Column:
    """The value of the first header of a name, as bytes; null where there is none."""
    position = F.array_position(headers["key"], name).cast("int")  # From 1; 0 where there is none.
    return F.get(headers["value"], position - 1)


def has_header(headers: Column, name: str) -> Column:
    """Whether there is a header of a name; never null."""
    return F.coalesce(F.array_contains(headers["key"], name), F.lit(False))


def header_text(headers: Column, name: str) -> Column:
    """A header as text; one without a value is empty."""
    return F.when(has_header(headers, name), _text(header_value(headers, name)))


def header_number(headers: Column, name: str, highest: int) -> Column:
    """A header as a number from 0 to `highest`, a bigint."""
    text = header_text(headers, name)
    # Twenty digits, which the contract allows, are more than a bigint holds.
    number = F.when(text.rlike("^[0-9]{1,20}\\z"), text.cast("decimal(20,0)"))
    return F.when(number <= highest, number.cast("bigint"))


def header_or(headers: Column, name: str, value: Column, default: object) -> Column:
    """A header's value as some function reads it, and a default where there is no such header."""
    return F.when(has_header(headers, name), value).otherwise(F.lit(default))


def user_properties(headers: Column) -> Column:
    """The user properties in their order, an array of struct<name: string, value: string>; empty, never null."""
    named = F.filter(headers, lambda one: F.startswith(one["key"], F.lit(h.USER_PROPERTY)))
    start = len(h.USER_PROPERTY) + 1  # Spark counts from 1.
    return F.transform(
        named,
        lambda one: F.struct(
            F.substring(one["key"], start, 1 << 30).alias("name"), _text(one["value"]).alias("value")
        ),
    )


def _text(value: Column) -> Column:
    text = F.coalesce(value, F.lit(b"")).cast("string")
    return F.when(F.is_valid_utf8(text), text)
