"""Which pairs of histories may some encoder pool?

Suppose a machine that encodes the reward sends two histories with the same last observation to
one state. It then pays both the same along every common continuation, so that its potential Ψ
(see `encodes`) has to make up for the difference. Put Δ = Ψ(h) − Ψ(h'). An action is

- *non-binding* if the two laws of (next observation, whether the episode is over) differ. If the
  observations do, the machine's rewards, of which there is one a next observation, can satisfy
  both histories, whatever Δ is. If only the end does, it pays in advance and takes it back at the
  next step if there is one: Ψ after o' may be any number, and the two weigh it differently;
- *binding* otherwise: Δ(pair) = γ Σ P(o', going on) Δ(pair after o') − (R − R').

A pair is *free* if every action is non-binding or leads to a free pair (the least fixpoint: around
a cycle a gap would have to grow without bound). Every other pair has a binding action without
free successors; these equations are a contraction with exactly one bounded solution, the *forced*
gap. Where two such actions of one pair demand different gaps there is a *conflict*, and every pair
from which some word leads to a conflict is **unpoolable**, in machines of any size.

Where the filter is not finite, pairs on its frontier count as free: what is then found unpoolable
is so, and nothing follows about the rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from clew.machines.certificates.claims import Pair
from clew.machines.deciding.bisimulation import Classes, classes
from clew.machines.deciding.pair_graph import ZERO, Mask, PairGraph, pair_of
from clew.machines.exact.graphs import reached
from clew.machines.exact.linear import fixed_point
from clew.machines.exact.numbers import summed
from clew.machines.model.belief import Filter

V = TypeVar("V")
Places = NDArray[np.int32]
"""[pair]: an action's place; -1 for none."""


@dataclass(frozen=True)
class Pairs:
    """The decision for all pairs of classes of a filter."""

    beliefs: Filter
    classes: Classes
    rank: Mapping[Pair, int]
    """Of free pairs: all of its binding actions have a free successor of a smaller rank."""
    chosen: Mapping[Pair, int]
    """Of the others: the binding action whose equation forces the gap."""
    forced: Mapping[Pair, Fraction]
    """Of the others: the gap."""
    conflicts: dict[Pair, int]
    """Pairs where a second action, this one, demands another gap."""
    route: dict[Pair, tuple[int, int] | None]
    """Of unpoolable pairs: (action, o') towards the nearest conflict; None at one."""

    def poolable(self, cell: int, other: int) -> bool:
        """Whether nothing forbids that an encoder sends both cells to one state."""
        return pair_of(self.classes.of[cell], self.classes.of[other])[0] not in self.route

    def gap(self, first: int, second: int) -> Fraction | None:
        """Δ of two classes, in this order; None where it is free."""
        if first == second:
            return Fraction(0)
        pair, sign = pair_of(first, second)
        return None if pair in self.rank else sign * self.forced[pair]


def none_apart(beliefs: Filter) -> Pairs:
    """The decision where a machine with one state encodes: it pools whatever looks the same."""
    seen = tuple(cell.observation for cell in beliefs.cells)
    alone = tuple((cell,) for cell in range(len(seen)))
    each = Classes(tuple(range(len(seen))), alone, seen, (), (), (), ())
    return Pairs(beliefs, each, {}, {}, {}, {}, {})


def decide_pairs(beliefs: Filter) -> Pairs:
    """Decide all pairs of cells that share an observation."""
    quotient = classes(beliefs)
    graph = PairGraph(quotient, beliefs.pomdp.discount)
    binding = [graph.binding(place) for place in range(len(graph.actions))]
    rank = _free(graph, binding)
    options = [_options(graph, place, mask, rank) for place, mask in enumerate(binding)]
    chosen, order = _choose(graph, options)
    gaps, owing = _solve(graph, chosen, order)
    found = _conflicts(graph, options, chosen, gaps)
    # in the order in which gaps were found: the nearest conflict is the first of those as near
    place = {pair: number for number, pair in enumerate(order) if pair in found}
    last = {pair: graph.pair(pair) for pair in owing & found.keys()}
    early = sorted(place, key=lambda pair: place[pair])
    middle = sorted(found.keys() - place.keys() - last.keys())
    conflicts = [*early, *middle, *sorted(last, key=lambda pair: last[pair])]
    return Pairs(
        beliefs,
        quotient,
        _ByPair(graph, lambda pair: int(rank[pair]) if rank[pair] >= 0 else None),
        _ByPair(graph, lambda pair: graph.actions[chosen[pair]] if chosen[pair] >= 0 else None),
        _ByPair(graph, lambda pair: gaps.get(pair, ZERO) if chosen[pair] >= 0 else None),
        {graph.pair(pair): graph.actions[found[pair]] for pair in conflicts},
        _routes(graph, conflicts),
    )


class _ByPair(Mapping[Pair, V]):
    """What holds of pairs, by their classes."""

    def __init__(self, graph: PairGraph, of: Callable[[int], V | None]):
        self._graph, self._of = graph, of

    def __getitem__(self, pair: Pair) -> V:
        value = self._of(self._graph.number(pair)) if pair in self._graph else None
        if value is None:
            raise KeyError(pair)
        return value

    def __iter__(self) -> Iterator[Pair]:
        some = (pair for pair in range(len(self._graph)) if self._of(pair) is not None)
        return map(self._graph.pair, some)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _free(graph: PairGraph, binding: Sequence[Mask]) -> NDArray[np.int32]:
    """The least fixpoint, by striking out the actions that no longer bind a pair.

    Returns ranks; -1 for pairs that are not free.
    """
    count = np.zeros(len(graph), np.int32)
    for mask in binding:
        count += mask
    rank = np.where(count, np.int32(-1), np.int32(0))
    queue = deque(np.flatnonzero(count == 0).tolist())
    bound = [bytearray(mask) for mask in binding]
    left = count.tolist()
    while queue:
        pair = queue.popleft()
        for before, place, _ in graph.before(pair):
            if bound[place][before]:
                bound[place][before] = False
                left[before] -= 1
                if not left[before]:
                    rank[before] = rank[pair] + 1
                    queue.append(before)
    return rank


def _options(graph: PairGraph, place: int, binding: Mask, rank: NDArray[np.int32]) -> Mask:
    """The pairs that an action binds and that it leads to no free one."""
    options, free = binding.copy(), rank >= 0
    if free.any():
        for here, there in graph.ahead(place, np.flatnonzero(binding)):
            options[here[free[there]]] = False
    return options


def _choose(graph: PairGraph, options: Sequence[Mask]) -> tuple[Places, list[int]]:
    """An equation for each pair that is not free: one that ends soon where there is one.

    Equations that lead to solved pairs only need no solving, and keep the numbers short: their
    pairs are returned too, each after those that it leads to. Pairs that are left depend on each
    other in a circle, whatever is chosen for them.
    """
    chosen, default = (np.full(len(graph), -1, np.int32) for _ in range(2))
    for place, mask in reversed([*enumerate(options)]):  # the first action wins
        default[mask] = place
        ends = mask.copy()
        for here, _ in graph.ahead(place, np.flatnonzero(mask)):
            ends[here] = False
        chosen[ends] = place
    order = np.flatnonzero(chosen >= 0).tolist()
    solved, able = bytearray(chosen >= 0), [bytes(mask) for mask in options]
    for pair in order:  # it grows while it is walked
        for before, place, _ in graph.before(pair):
            if solved[before] or not able[place][before]:
                continue
            if all(solved[after] for after in graph.after(before, place)):
                solved[before] = True
                chosen[before] = place
                order.append(before)
    return np.where(chosen < 0, default, chosen), order


def _solve(
    graph: PairGraph, chosen: Places, order: Sequence[int]
) -> tuple[dict[int, Fraction], set[int]]:
    """The gaps that are not zero, one by one where they rest on those before, the others together.

    Pairs that no difference in rewards leads to owe nothing: zero satisfies their equations, which
    have one bounded solution. In large worlds these are nearly all. The others that were solved
    together are returned too.
    """

    def leading(pair: int) -> Iterator[int]:
        return (before for before, place, _ in graph.before(pair) if chosen[before] == place)

    differing: list[int] = []
    for place in range(len(graph.actions)):
        some = np.flatnonzero(chosen == place)
        differing += some[graph.paid_differently(place, some)].tolist()
    touched = reached(differing, leading)
    gaps: dict[int, Fraction] = {}
    for pair in filter(touched.__contains__, order):
        if gap := _asked(graph, gaps, pair, chosen[pair]):
            gaps[pair] = gap
    left = touched.difference(order)
    some = [pair for pair in left if _asked(graph, gaps, pair, chosen[pair])]
    owing = reached(some, lambda pair: (before for before in leading(pair) if before in left))
    place = {pair: number for number, pair in enumerate(sorted(owing))}
    constants = [_asked(graph, gaps, pair, chosen[pair]) for pair in place]
    equations = (summed(graph.terms(pair, chosen[pair])) for pair in place)
    terms = [
        {place[q]: graph.discount * k for q, k in row.items() if q in place} for row in equations
    ]
    solved = zip(place, fixed_point(constants, terms), strict=True)
    return gaps | {pair: gap for pair, gap in solved if gap}, owing


def _asked(graph: PairGraph, gaps: Mapping[int, Fraction], pair: int, place: int) -> Fraction:
    """The gap that an equation asks for, as far as the gaps that it rests on are known."""
    after = graph.terms(pair, place)
    rest = sum((k * gap for other, k in after if (gap := gaps.get(other))), ZERO)
    constant = graph.constant(pair, place)
    return constant + graph.discount * rest if rest else constant


def _conflicts(
    graph: PairGraph, options: Sequence[Mask], chosen: Places, gaps: Mapping[int, Fraction]
) -> dict[int, int]:
    """Pairs where another action demands another gap, and the first such action."""
    found: dict[int, int] = {}
    owed = np.zeros(len(graph), bool)
    owed[[*gaps]] = True
    for place, mask in enumerate(options):
        some = np.flatnonzero(mask & (chosen != place))
        # elsewhere the gap is zero, and zero is asked for
        doubtful = owed.copy()
        doubtful[some[graph.paid_differently(place, some)]] = True
        for here, there in graph.ahead(place, some):
            doubtful[here[owed[there]]] = True
        for pair in some[doubtful[some]].tolist():
            if pair not in found and _asked(graph, gaps, pair, place) != gaps.get(pair, ZERO):
                found[pair] = place
    return found


def _routes(graph: PairGraph, conflicts: Sequence[int]) -> dict[Pair, tuple[int, int] | None]:
    """Backwards from the conflicts along common words, binding or not."""
    route: dict[int, tuple[int, int] | None] = dict.fromkeys(conflicts)
    queue = deque(conflicts)
    while queue:
        for before, place, o in graph.before(queue.popleft()):
            if before not in route:
                route[before] = (graph.actions[place], o)
                queue.append(before)
    return {graph.pair(pair): step for pair, step in route.items()}
