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
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.certificates.claims import Pair
from clew.machines.deciding.pair_graph import ZERO, Classes, PairGraph, classes, pair_of
from clew.machines.exact.graphs import reached
from clew.machines.exact.linear import fixed_point
from clew.machines.exact.numbers import summed
from clew.machines.model.belief import Filter


@dataclass(frozen=True)
class Pairs:
    """The decision for all pairs of classes of a filter."""

    beliefs: Filter
    classes: Classes
    rank: dict[Pair, int]
    """Of free pairs: all of its binding actions have a free successor of a smaller rank."""
    chosen: dict[Pair, int]
    """Of the others: the binding action whose equation forces the gap."""
    forced: dict[Pair, Fraction]
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
    rank = _free(graph)
    same: dict[tuple[int, ...], tuple[int, ...]] = {}  # there are few different ones
    options = {
        pair: same.setdefault(found, found)
        for pair in graph.pairs()
        if pair not in rank
        for found in (_options(graph, rank, pair),)
    }
    chosen = _choose(graph, options)
    forced = _solve(graph, chosen)
    conflicts = _conflicts(graph, options, chosen, forced)
    return Pairs(beliefs, quotient, rank, chosen, forced, conflicts, _routes(graph, conflicts))


def _free(graph: PairGraph) -> dict[Pair, int]:
    """The least fixpoint, by striking out the actions that no longer bind a pair."""
    bound: dict[Pair, tuple[int, ...]] = {}
    rank: dict[Pair, int] = {}
    same: dict[tuple[int, ...], tuple[int, ...]] = {}  # there are few different ones
    for pair in graph.pairs():
        actions = tuple(graph.binding(pair))
        if actions:
            bound[pair] = same.setdefault(actions, actions)
        else:
            rank[pair] = 0
    queue = deque(rank)
    while queue:
        pair = queue.popleft()
        for before, action, _ in graph.before(pair):
            if action in bound.get(before, ()):
                left = tuple(a for a in bound.pop(before) if a != action)
                if left:
                    bound[before] = same.setdefault(left, left)
                else:
                    rank[before] = rank[pair] + 1
                    queue.append(before)
    return rank


def _options(graph: PairGraph, rank: dict[Pair, int], pair: Pair) -> tuple[int, ...]:
    """The binding actions of a pair that lead to no free one."""
    return tuple(
        a
        for a in graph.binding(pair)
        if not any(after in rank for _, after in graph.after(pair, a))
    )


def _choose(graph: PairGraph, options: dict[Pair, tuple[int, ...]]) -> dict[Pair, int]:
    """An equation for each pair that is not free: one that ends soon where there is one.

    Equations that lead to solved pairs only need no solving, and keep the numbers short. Pairs
    that are left depend on each other in a circle, whatever is chosen for them.
    """
    chosen: dict[Pair, int] = {}
    for pair, actions in options.items():
        for action in actions:
            if next(graph.after(pair, action), None) is None:
                chosen.setdefault(pair, action)
    queue = deque(chosen)
    while queue:
        for before, action, _ in graph.before(queue.popleft()):
            if before in chosen or action not in options.get(before, ()):
                continue
            if all(after in chosen for _, after in graph.after(before, action)):
                chosen[before] = action
                queue.append(before)
    for pair, actions in options.items():
        chosen.setdefault(pair, actions[0])
    return chosen


def _solve(graph: PairGraph, chosen: dict[Pair, int]) -> dict[Pair, Fraction]:
    """The gaps: one by one where they rest on those before, the others together.

    Of the others, those that no difference in rewards leads to owe nothing: zero satisfies their
    equations, which have one bounded solution. In large worlds these are nearly all.
    """
    forced: dict[Pair, Fraction] = {}
    left: dict[Pair, None] = {}
    for pair, action in chosen.items():
        if all(other in forced for _, other in graph.after(pair, action)):
            forced[pair] = _asked(graph, forced, pair, action)
        else:
            left[pair] = None
    some = [pair for pair in left if _asked(graph, forced, pair, chosen[pair])]
    owing = reached(some, lambda pair: (
        before
        for before, action, _ in graph.before(pair)
        if before in left and chosen[before] == action
    ))  # fmt: skip
    forced |= {pair: ZERO for pair in left if pair not in owing}
    place = {pair: number for number, pair in enumerate(sorted(owing))}
    constants = [_asked(graph, forced, pair, chosen[pair]) for pair in place]
    equations = (summed(graph.terms(pair, chosen[pair])) for pair in place)
    terms = [
        {place[q]: graph.discount * k for q, k in row.items() if q in place} for row in equations
    ]
    return forced | dict(zip(place, fixed_point(constants, terms), strict=True))


def _asked(graph: PairGraph, forced: Mapping[Pair, Fraction], pair: Pair, action: int) -> Fraction:
    """The gap that an equation asks for, as far as the gaps that it rests on are known."""
    after = graph.terms(pair, action)
    rest = sum((k * gap for other, k in after if (gap := forced.get(other))), ZERO)
    constant = graph.constant(pair, action)
    return constant + graph.discount * rest if rest else constant


def _conflicts(
    graph: PairGraph,
    options: dict[Pair, tuple[int, ...]],
    chosen: dict[Pair, int],
    forced: dict[Pair, Fraction],
) -> dict[Pair, int]:
    found = {}
    for pair, gap in forced.items():
        for action in options[pair]:
            if action == chosen[pair]:
                continue
            if _asked(graph, forced, pair, action) != gap:
                found[pair] = action
                break
    return found


def _routes(graph: PairGraph, conflicts: dict[Pair, int]) -> dict[Pair, tuple[int, int] | None]:
    """Backwards from the conflicts along common words, binding or not."""
    route: dict[Pair, tuple[int, int] | None] = dict.fromkeys(conflicts)
    queue = deque(conflicts)
    while queue:
        for before, action, o in graph.before(queue.popleft()):
            if before not in route:
                route[before] = (action, o)
                queue.append(before)
    return route
