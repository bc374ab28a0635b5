"""Topics by their levels: an exact look-up is a dictionary's, and a filter walks only the branches that match it.

Nothing recurses, and a walk goes on where it was when the caller comes back: many topics take many bits of time, not
one long one. The tree may change between two bits. What is removed is not found any more; what is added may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from contracts.topics import matches

T = TypeVar("T")

_DEPTH = 32
"""Levels that make nodes. A topic may have 65,535; those deeper share their node, and are compared one by one."""
_STEPS = 500
"""Nodes that a walk looks at before it gives the caller a chance to do something else; some tenths of a millisecond."""


class _Node(Generic[T]):
    __slots__ = ("children", "deep", "value")

    def __init__(self) -> None:
        self.value: T | None = None
        self.children: dict[str, _Node[T]] | None = None
        self.deep: dict[str, T] | None = None
        """Topic → value, of topics with more levels than make nodes."""

    @property
    def is_empty(self) -> bool:
        return self.value is None and not self.children and not self.deep


class TopicTree(Generic[T]):
    """Topic → value, and values by filter."""

    def __init__(self) -> None:
        self._values: dict[str, T] = {}
        self._root: _Node[T] = _Node()
        self._named: dict[tuple[int, str], int] = {}
        """How many nodes have a name at a depth: a filter that wants one that none has need not walk."""

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[T]:
        return iter(self._values.values())

    def get(self, topic: str) -> T | None:
        """The value of a topic."""
        return self._values.get(topic)

    def put(self, topic: str, value: T) -> None:
        """Add or replace a topic's value."""
        self._values[topic] = value
        levels = topic.split("/")
        node = self._root
        for depth, level in enumerate(levels[:_DEPTH]):
            if node.children is None:
                node.children = {}
            child = node.children.get(level)
            if child is None:
                child = node.children[level] = _Node()
                self._named[depth, level] = self._named.get((depth, level), 0) + 1
            node = child
        if len(levels) <= _DEPTH:
            node.value = value
        elif node.deep is None:
            node.deep = {topic: value}
        else:
            node.deep[topic] = value

    def remove(self, topic: str) -> T | None:
        """Remove a topic; returns what its value was."""
        value = self._values.pop(topic, None)
        if value is None:
            return None
        levels = topic.split("/")
        path = [self._root]
        for level in levels[:_DEPTH]:
            children = path[-1].children
            assert children is not None  # noqa: S101 - it was put there
            path.append(children[level])
        if len(levels) <= _DEPTH:
            path[-1].value = None
        elif path[-1].deep is not None:
            del path[-1].deep[topic]
        for depth in range(len(path) - 1, 0, -1):
            if not path[depth].is_empty:
                break
            if (children := path[depth - 1].children) is not None:
                del children[levels[depth - 1]]
                self._forget((depth - 1, levels[depth - 1]))
        return value

    def _forget(self, name: tuple[int, str]) -> None:
        self._named[name] -= 1
        if not self._named[name]:
            del self._named[name]

    def find(self, filter: str) -> Iterator[T | None]:
        """The values of topics that match a filter (without share prefix), in no particular order.

        None now and then: a chance for the caller to let others have their turn.
        """
        if "+" not in filter and "#" not in filter:
            if (value := self._values.get(filter)) is not None:
                yield value
            return
        yield from self._walk(filter)

    def _walk(self, filter: str) -> Iterator[T | None]:
        wanted = filter.split("/")
        names = ((depth, level) for depth, level in enumerate(wanted[:_DEPTH]) if level not in ("+", "#"))
        if not all(name in self._named for name in names):
            return
        stack = [(0, [self._root])]
        steps = 0
        while stack:
            depth, nodes = stack[-1]
            if not nodes:
                stack.pop()
                continue
            node = nodes.pop()
            steps += 1
            if steps % _STEPS == 0:
                yield None
            is_end = depth == len(wanted)
            level = "" if is_end else wanted[depth]
            if node.value is not None and (is_end or level == "#"):  # "a/#" matches "a" as well
                yield node.value
            if is_end:
                continue
            if node.deep:
                yield from self._deep(node, filter)
            if node.children:
                stack.append(self._below(node, depth, wanted))

    @staticmethod
    def _deep(node: _Node[T], filter: str) -> Iterator[T | None]:
        for number, topic in enumerate(list(node.deep or ())):
            if number % 8 == 7:
                yield None  # each may be a comparison of thousands of levels
            if matches(filter, topic) and node.deep and (value := node.deep.get(topic)) is not None:
                yield value

    def _below(self, node: _Node[T], depth: int, wanted: list[str]) -> tuple[int, list[_Node[T]]]:
        """Where to go on below a node, and which level of the filter is to match there."""
        children, level = node.children or {}, wanted[depth]
        if level not in ("+", "#"):
            child = children.get(level)
            return depth + 1, [] if child is None else [child]
        if node is self._root:  # a wildcard at the front never matches what begins with $ [MQTT-4.7.2-1]
            nodes = [child for name, child in children.items() if not name.startswith("$")]
        else:
            nodes = list(children.values())
        if level == "#":
            return depth, nodes
        after = wanted[depth + 1] if depth + 1 < min(len(wanted), _DEPTH) else "#"
        if after in ("+", "#"):
            return depth + 1, nodes
        # Of a hundred thousand branches, those that go on as wanted are found at once, without a visit to each.
        found = (one.children.get(after) for one in nodes if one.children)
        return depth + 2, [one for one in found if one is not None]
