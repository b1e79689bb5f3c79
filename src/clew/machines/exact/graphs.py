"""Graphs: what can be reached, and strongly connected components."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def reached(start: Iterable[N], after: Callable[[N], Iterable[N]]) -> set[N]:
    """Everything that some steps lead to from the start."""
    found = set(start)
    frontier = list(found)
    while frontier:
        new = set(after(frontier.pop())) - found
        found |= new
        frontier += new
    return found


def components(graph: Sequence[Sequence[int]]) -> list[list[int]]:
    """The components, each after all that it leads to (Tarjan's algorithm, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(graph)):
        work = [] if root in order else [(root, 0)]
        while work:
            node, child = work.pop()
            if child == 0:
                order[node] = low[node] = len(order)
                stack.append(node)
                on_stack.add(node)
            else:
                low[node] = min(low[node], low[graph[node][child - 1]])
            deeper = _next_child(graph[node], child, node, order, low, on_stack)
            if deeper is not None:
                work += [(node, deeper + 1), (graph[node][deeper], 0)]
            elif low[node] == order[node]:
                cut = stack.index(node)
                found.append(stack[cut:])
                on_stack.difference_update(stack[cut:])
                del stack[cut:]
    return found


def _next_child(
    children: Sequence[int],
    first: int,
    node: int,
    order: dict[int, int],
    low: dict[int, int],
    on_stack: set[int],
) -> int | None:
    """The place of the next child that was not visited yet."""
    for place in range(first, len(children)):
        other = children[place]
        if other not in order:
            return place
        if other in on_stack:
            low[node] = min(low[node], order[other])
    return None
