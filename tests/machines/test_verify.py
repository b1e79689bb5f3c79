"""A certificate that was tampered with is rejected: the checks can fail."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from clew.machines import Edge, Labelling, PomdpRM, RewardMachine, gallery
from clew.machines.certificates.claims import (
    Dense,
    Differs,
    Encodes,
    Mixed,
    Perfect,
    Refuted,
    Sparse,
)
from clew.machines.certificates.verify import Rejected, verify
from clew.machines.deciding.density import density, size_bound
from clew.machines.deciding.encodes import encodes
from clew.machines.deciding.optimal import optimal
from clew.machines.deciding.pairs import decide_pairs
from clew.machines.deciding.perfect import perfect
from clew.machines.deciding.structure import admits
from clew.machines.model.belief import close
from tests.machines.known_machines import cue_machine

ONE = Fraction(1)


def rejected(certificate: Any, why: str | None = None) -> None:
    with pytest.raises(Rejected, match=why):
        verify(certificate)


def test_a_potential() -> None:
    proof = encodes(cue_machine(gallery.make("Cue")))
    assert isinstance(proof, Encodes)
    verify(proof)
    for triple in proof.potential:
        rejected(replace(proof, potential={**proof.potential, triple: ONE}), "potential")
    for i in range(len(proof.basis)):
        rejected(replace(proof, basis=proof.basis[:i] + proof.basis[i + 1 :]), "outside")
    product = proof.product
    other = replace(product, machine=RewardMachine(("u",), ({},)))
    rejected(replace(proof, product=other))


def test_two_policies() -> None:
    product = cue_machine(gallery.make("Cue"))
    edges = list(product.machine.edges)
    label = next(iter(edges[1]))
    edges[1] = {**edges[1], label: Edge(edges[1][label].state, Fraction(7))}
    wrong = replace(product, machine=replace(product.machine, edges=tuple(edges)))
    proof = encodes(wrong)
    assert isinstance(proof, Differs)
    verify(proof)
    rejected(replace(proof, product=product))
    triple = next(iter(proof.tail.pomdp))
    tail = proof.tail._replace(pomdp={**proof.tail.pomdp, triple: Fraction(99)})
    rejected(replace(proof, tail=tail), "value")
    returns = proof.with_action._replace(machine=proof.with_action.machine + 1)
    rejected(replace(proof, with_action=returns), "returns are not as stated")


def test_a_refutation() -> None:
    pomdp = gallery.make("Tiger")
    proof = admits(PomdpRM(pomdp, Labelling.injective(pomdp), RewardMachine(("u",), ({},))))
    assert isinstance(proof, Refuted)
    verify(proof)
    doubled = tuple((h, a, 2 * y) for h, a, y in proof.multiples)
    rejected(replace(proof, multiples=doubled), "contradict")
    rejected(replace(proof, multiples=proof.multiples[1:]))
    (h, a, y), *rest = proof.multiples
    rejected(replace(proof, multiples=((h, a, y + 1), *rest)))


def test_perfection() -> None:
    proof = perfect(cue_machine(gallery.make("Cue")))
    assert isinstance(proof, Perfect)
    one_state = replace(proof.product, machine=RewardMachine(("u",), ({},)))
    rejected(Perfect(one_state, proof.basis))
    mixed = perfect(one_state)
    assert isinstance(mixed, Mixed)
    verify(mixed)
    rejected(replace(mixed, second=mixed.first), "same next step")
    rejected(replace(mixed, product=proof.product), "not at one site")
    rejected(replace(mixed, first=(5,)), "cannot come first")


def test_density() -> None:
    proof = density(decide_pairs(close(gallery.make("Cue"))))
    assert isinstance(proof, Dense)
    verify(proof)
    evidence = proof.distinctions

    def altered(why: str | None, **changes: Any) -> None:
        rejected(Dense(replace(evidence, **changes)), why)

    for pair, gap in evidence.forced.items():
        altered(None, forced={**evidence.forced, pair: gap + 1})
        altered("no equation", chosen={p: a for p, a in evidence.chosen.items() if p != pair})
    for pair in evidence.conflicts:
        same = evidence.chosen[pair]
        altered("a conflict is none", conflicts={**evidence.conflicts, pair: same})
        fewer = {p: a for p, a in evidence.conflicts.items() if p != pair}
        altered("without a conflict", conflicts=fewer)
    altered(None, class_of=(0,) * len(evidence.cells))
    altered(None, cells=evidence.cells[:-1], class_of=evidence.class_of[:-1])
    altered("not forced apart", route={}, conflicts={})
    free = gallery.make("Dictation-sparse")
    altered(None, pomdp=free)


def test_sparsity() -> None:
    proof = density(decide_pairs(close(gallery.make("Dictation-sparse"))))
    assert isinstance(proof, Sparse)
    verify(proof)
    rejected(replace(proof, product=replace(proof.product)), "different machines")


def test_optimal_values() -> None:
    best = optimal(close(gallery.make("CheeseMaze")))
    verify(best)
    rejected(replace(best, value=best.value + 1), "optimal return")
    rejected(replace(best, values=(best.values[0] + 1, *best.values[1:])), "value")
    rejected(replace(best, actions=((1,), *best.actions[1:])), "actions")


def test_bounds() -> None:
    pairs = decide_pairs(close(gallery.make("Coin"), 30))
    bound = size_bound(pairs)
    verify(bound)
    rejected(replace(bound, cells=(*bound.cells, bound.cells[0])), "not forced apart")
    rejected(replace(bound, cells=tuple(range(len(bound.cells)))), "observation")


def test_what_is_no_certificate() -> None:
    rejected("trust me", "str is not a certificate")
