"""Guarding: what a hook's plan may have, and how messages that are none pass it.

A hook is a chain of projections and filters, with left joins to static tables: one row in, at most one row out, in the
same task, in order. Everything else is refused: Python for each message would hold up real-time mode, what needs a
shuffle or state would take the order and the proof of what is written (routing.passage) from the router, and what gives
another value the next time would make something else of a message that is routed again after a crash.

Probes and `$`-topics pass by: every filter lets them through.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame

from routing.errors import HooksError
from routing.hooks.analysis import Plan, analyzed, attributes, dataframe, kind, members, sequence
from routing.hooks.messages import SOURCE

_PLAIN = {"Project", "SubqueryAlias", "View", "ResolvedHint"}
_PYTHON = (
    "runs Python for each message, which the router never does; use functions of pyspark.sql or SQL instead"
)
_REASONS = {
    "Aggregate": "aggregates, which needs messages of before and after; use a query of your own on the Kafka topics",
    "Distinct": "drops equal messages, which needs a state; use a query of your own on the Kafka topics",
    "Deduplicate": "drops equal messages, which needs a state; use a query of your own on the Kafka topics",
    "Sort": "sorts; messages stay in the order in which they came, leave ORDER BY out",
    "Repartition": "repartitions, which would mix up the order of messages; leave that out",
    "RepartitionByExpression": "repartitions, which would mix up the order of messages; leave that out",
    "Window": "has a window over messages, which needs a state; use a query of your own on the Kafka topics",
    "Generate": "makes several rows of one message; a rule makes one message more",
    "Union": "puts streams together; a rule makes one message more",
    "GlobalLimit": "limits the number of messages; leave LIMIT out",
    "LocalLimit": "limits the number of messages; leave LIMIT out",
}
_CHANGING = {
    "CurrentTimestamp", "CurrentDate", "Now", "LocalTimestamp", "CurrentTime", "UnixTimestamp", "CurrentBatchTimestamp",
}  # fmt: skip
_RAISING = {"RaiseError", "AssertTrue"}


def guarded(before: DataFrame, after: DataFrame, place: str) -> DataFrame:
    """Check what a hook made of messages, and let pass by what is none of its business.

    Args:
        before: What the hook got.
        after: What it gave back.
        place: The hook, for errors.

    Raises:
        HooksError: It has what no hook may have.
    """
    spark = before.sparkSession
    source = attributes(analyzed(before))[SOURCE]
    plan = analyzed(after)
    if attributes(plan).get(SOURCE) != source:
        # What makes rows anew tells nothing of where they come from: say that, not what it looks like.
        if any(_runs_python(name) for name in _operators(plan)):
            raise HooksError(f"{place}: it {_PYTHON}")
        raise HooksError(f"{place}: the column {SOURCE} is missing or was changed; hand it on as it came")
    return dataframe(spark, _Guard(before, place, source[0]).rebuilt(plan))


def functions_of(expression: object) -> Iterator[str]:
    """The classes of an expression and of all that is in it."""
    yield kind(expression)
    for child in members(expression.children()):  # type: ignore[attr-defined]
        yield from functions_of(child)


def refuse_functions(expression: object, place: str) -> None:
    """Look at an analyzed expression.

    Raises:
        HooksError: It runs Python, fails on purpose, asks another table, or is not the same the next time.
    """
    for name in functions_of(expression):
        if name.startswith("Python"):
            raise HooksError(f"{place}: it {_PYTHON}")
        if name.endswith("Subquery") or name in ("Exists", "ListQuery"):
            raise HooksError(f"{place}: it has a subquery; join a lookup with LEFT JOIN instead")
        if name in _RAISING:
            raise HooksError(
                f"{place}: it fails on purpose, which would end the router; filter with WHERE instead"
            )
        if name in _CHANGING:
            raise HooksError(
                f"{place}: it asks for the present time, which is another when a message is routed again after a "
                "crash; use received_at"
            )
    if not expression.deterministic():  # type: ignore[attr-defined]
        raise HooksError(
            f"{place}: it gives another value each time, but a message that is routed again after a crash must come "
            "out as before; leave out rand, uuid and the like"
        )


def _operators(plan: Plan) -> Iterator[str]:
    yield kind(plan)
    for child in members(plan.children()):
        yield from _operators(child)


def _runs_python(operator: str) -> bool:
    return any(word in operator for word in ("Python", "Pandas", "Arrow"))


class _Guard:
    """Goes through one hook's plan, from its end to where the messages come in."""

    def __init__(self, before: DataFrame, place: str, source: int) -> None:
        self._spark = before.sparkSession
        self._place = place
        self._source = source
        self._ends_at = analyzed(before).canonicalized()

    def rebuilt(self, plan: Plan) -> Plan:
        """The same plan, its filters with a way past them."""
        if self._is_start(plan):
            return plan
        name = kind(plan)
        if name != "View":  # its expressions are those of what it is a view of
            for expression in members(plan.expressions()):
                refuse_functions(expression, self._place)
        if name == "Join":
            left, right = self.rebuilt_side(plan), plan.right()
            return plan.withNewChildren(sequence(self._spark, [left, right]))
        if name == "Filter":
            return self._filter(plan)
        if name not in _PLAIN:
            raise HooksError(f"{self._place}: it {self._reason(name)}")
        return plan.withNewChildren(sequence(self._spark, [self.rebuilt(plan.children().apply(0))]))

    def rebuilt_side(self, join: Plan) -> Plan:
        """The messages' side of a join, which must be its left one."""
        if not str(join.joinType().toString()) == "LeftOuter":
            raise HooksError(
                f"{self._place}: it has a join that is not LEFT JOIN; messages without a match would be lost, probes "
                "too: use LEFT JOIN, then WHERE"
            )
        if join.right().isStreaming():
            raise HooksError(
                f"{self._place}: it joins messages with messages; only static lookups can be joined"
            )
        if self._source not in [number for numbers in attributes(join.left()).values() for number in numbers]:
            raise HooksError(f"{self._place}: messages must stand on the left side of a LEFT JOIN")
        return self.rebuilt(join.left())

    def _filter(self, plan: Plan) -> Plan:
        child = self.rebuilt(plan.child())
        found = [one for one in members(plan.child().output()) if one.exprId().id() == self._source]
        if not found:
            raise HooksError(f"{self._place}: a filter comes after {SOURCE} was left out; keep that column")
        jvm = self._spark._jvm
        expressions = jvm.org.apache.spark.sql.catalyst.expressions  # type: ignore[union-attr]
        at = found[0].dataType().fieldIndex("passes_by")
        passes_by = expressions.GetStructField(found[0], at, jvm.scala.Option.empty())  # type: ignore[union-attr]
        condition = expressions.Or(passes_by, plan.condition())
        return jvm.org.apache.spark.sql.catalyst.plans.logical.Filter(condition, child)  # type: ignore[union-attr]

    def _is_start(self, plan: Plan) -> bool:
        return bool(plan.canonicalized().equals(self._ends_at))

    def _reason(self, name: str) -> str:
        if _runs_python(name):
            return _PYTHON
        return _REASONS.get(
            name, f"has the operator {name}, which hooks may not have: use select, where and LEFT JOIN"
        )
