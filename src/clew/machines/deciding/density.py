"""Structurally dense or sparse: must every encoder be perfect?

Dense is proved by a certificate that no encoder of any size pools a distinguishable pair; sparse
by an explicit machine that encodes and is not perfect, or by a certificate that no finite machine
encodes (`Unencodable`) or is perfect (`NeverPerfect`). Where nothing is reached the answer is
`Undecided`, with what is missing; it is never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

from clew.machines.certificates.claims import (
    Bound,
    Dense,
    Distinctions,
    Encodes,
    Pair,
    Perfect,
    Sparse,
    Undecided,
    Unencodable,
    Verdict,
)
from clew.machines.deciding.encodes import encodes
from clew.machines.deciding.pair_graph import arrows, pair_of
from clew.machines.deciding.pairs import Pairs
from clew.machines.deciding.perfect import perfect
from clew.machines.deciding.quotient import compressed_machine, looped_machines, merged_machine
from clew.machines.deciding.spaces import Spaces, spaces
from clew.machines.deciding.structure import rewarded
from clew.machines.deciding.unencodable import unencodable
from clew.machines.deciding.witness import pooling_machine
from clew.machines.exact.graphs import reached
from clew.machines.model.belief import Filter, grouped
from clew.machines.model.pomdp import Pomdp
from clew.machines.model.reward_machine import Labelling, PomdpRM, RewardMachine

TRIES = 40
"""Pairs for which a witness is looked for before giving up."""
SMALL = 2000
"""A machine with few states is looked for where the POMDP has no more states than this."""
FEW = 12
"""States of the machine that the first of infinitely many posteriors suggest, to be tried."""
MANY = 60_000
"""The same for a machine with one state, which takes less arithmetic."""


def one_state(pomdp: Pomdp) -> Sparse | None:
    """The proof that a machine with one state encodes and is not perfect, if it does and is not."""
    if len(pomdp.states) > MANY:
        return None
    machine = RewardMachine(("u0",), ({},), name="one-state machine")
    structure = PomdpRM(pomdp, Labelling.injective(pomdp), machine)
    return next((found for each in _rewarded(structure) if (found := sparse_by(*each))), None)


def density(pairs: Pairs, one_state_tried: bool = False) -> Verdict:
    """Decide from the pairs of a filter."""
    beliefs, pomdp = pairs.beliefs, pairs.beliefs.pomdp
    if beliefs.finite and next(poolable_pairs(pairs), None) is None:
        return Dense(distinctions(pairs))
    alone = None if one_state_tried else one_state(pomdp)
    if alone is not None:
        return alone
    never = None if beliefs.finite else unencodable(beliefs)
    if isinstance(never, Unencodable):
        return never
    for product, known in _candidates(pairs):
        found = sparse_by(product, known)
        if found is not None:
            return found
    if not beliefs.finite:
        return never or Undecided(
            pomdp,
            f"the filter is not finite as far as it was followed; {_about_one(pomdp)}, no word was "
            "found whose repetition takes a machine through infinitely many posteriors, and "
            "density can be certified only of a finite filter",
        )
    return Undecided(
        pomdp,
        "some distinguishable pairs are not forced apart one by one, but no machine was found "
        "that pools one: one history is always a prefix of the other, or it would be too large",
    )


def _about_one(pomdp: Pomdp) -> str:
    if len(pomdp.states) > MANY:
        return f"the one-state machine was not tried on more than {MANY:,} states"
    return "no rewards were found with which one state encodes and is not perfect"


def distinctions(pairs: Pairs) -> Distinctions:
    """What `verify` cannot compute itself: the conflicts, and the equations that they rest on."""

    def after(pair: Pair) -> Iterator[Pair]:
        for action in {pairs.chosen[pair], pairs.conflicts.get(pair, pairs.chosen[pair])}:
            yield from (other for _, other in arrows(pairs.classes, pair, action))

    needed = reached(pairs.conflicts, after)
    return Distinctions(
        pomdp=pairs.beliefs.pomdp,
        cells=pairs.beliefs.cells,
        class_of=pairs.classes.of,
        chosen={pair: pairs.chosen[pair] for pair in sorted(needed)},
        forced={pair: pairs.forced[pair] for pair in sorted(needed)},
        conflicts=pairs.conflicts,
        route=pairs.route,
    )


def sparse_by(product: PomdpRM, known: Spaces | None = None) -> Sparse | None:
    """The proof that a machine encodes and is not perfect, if it does and is not."""
    known = known or spaces(product)
    mixed = perfect(product, known)
    if isinstance(mixed, Perfect):
        return None
    proof = encodes(product, known)
    return Sparse(product, proof, mixed) if isinstance(proof, Encodes) else None


def distinguishable(beliefs: Filter, first: int, second: int) -> bool:
    """Whether Pr(o', r | a) differs for some action. (Laws are interned: `is` compares them.)"""
    rows = zip(beliefs.rows[first], beliefs.rows[second], strict=True)
    return any(one.joint is not two.joint for one, two in rows)


def poolable_pairs(pairs: Pairs) -> Iterator[Pair]:
    """The distinguishable pairs of cells that nothing forces apart."""
    beliefs = pairs.beliefs
    for some in grouped(cell.observation for cell in beliefs.cells[: len(beliefs.rows)]):
        for first, second in combinations(some, 2):
            if pairs.poolable(first, second) and distinguishable(beliefs, first, second):
                yield first, second


def _candidates(pairs: Pairs) -> Iterator[tuple[PomdpRM, Spaces | None]]:
    """Machines that may be non-perfect encoders, the simplest first."""
    if len(pairs.beliefs.pomdp.states) <= SMALL:
        structure = compressed_machine(pairs)
        if pairs.beliefs.finite or 1 < len(structure.machine.states) <= FEW:
            yield from _rewarded(structure)
    if not pairs.beliefs.finite:
        return
    some = sorted(islice(poolable_pairs(pairs), 100 * TRIES), key=sum)[:TRIES]
    for first, second in some:
        product = pooling_machine(pairs, first, second)
        if product is not None:
            yield product, None
    for first, second in some:
        for looped in looped_machines(pairs.beliefs, first, second):
            yield from _rewarded(looped)
        yield from _rewarded(merged_machine(pairs.beliefs, first, second))


def _rewarded(structure: PomdpRM) -> Iterator[tuple[PomdpRM, Spaces]]:
    """The structure with rewards that make it encode, if there are any, and its spaces."""
    known = spaces(structure)
    answer = rewarded(structure, known)
    if answer is not None:
        yield answer, known


def size_bound(pairs: Pairs) -> Bound:
    """A large set of classes that are pairwise unpoolable, found greedily by degree.

    Sound for filters that are not finite too: what is unpoolable there stays so.
    """
    if not pairs.route:
        return Bound(distinctions(pairs), (0,))
    best: list[int] = [0]
    for some in grouped(pairs.classes.observation):
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
