"""How many states must an encoder have? At least as many as there are cells forced apart."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from clew.machines.density import Distinctions, distinctions
from clew.machines.pair_graph import pair_of
from clew.machines.pairs import Pairs


@dataclass(frozen=True)
class Bound:
    """Cells with one observation, every two of which are unpoolable: a state each."""

    distinctions: Distinctions
    cells: tuple[int, ...]

    @property
    def states(self) -> int:
        """The lower bound on the number of machine states."""
        return len(self.cells)


def size_bound(pairs: Pairs) -> Bound:
    """A large set of classes that are pairwise unpoolable, found greedily by degree.

    Sound for filters that are not finite too: what is unpoolable there is so for good.
    """
    if not pairs.route:
        return Bound(distinctions(pairs), (0,))
    together: dict[int, list[int]] = defaultdict(list)
    for number, observation in enumerate(pairs.classes.observation):
        together[observation].append(number)
    best: list[int] = [0]
    for some in together.values():
        if len(some) > len(best):
            best = max(best, _clique(pairs, some), key=len)
    cells = tuple(pairs.classes.members[number][0] for number in best)
    return Bound(distinctions(pairs), cells)


def _clique(pairs: Pairs, classes: list[int]) -> list[int]:
    apart = {c: {d for d in classes if pair_of(c, d)[0] in pairs.route} for c in classes}
    best: list[int] = []
    # begin at each class in turn, the best connected first; stop when no better one can follow
    for first in sorted(classes, key=lambda c: -len(apart[c]))[:20]:
        if len(apart[first]) + 1 <= len(best):
            break
        clique, candidates = [first], set(apart[first])
        while candidates:
            chosen = max(candidates, key=lambda c: (len(apart[c] & candidates), -c))
            clique.append(chosen)
            candidates &= apart[chosen]
        best = max(best, clique, key=len)
    return best
