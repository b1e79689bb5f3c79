"""What can be said about one machine on one POMDP."""

from __future__ import annotations

from dataclasses import dataclass

from clew.machines.certificates.claims import Differs, Encodes, Mixed, Perfect, Refuted
from clew.machines.certificates.verify import verify
from clew.machines.deciding.encodes import RewardMismatch, encodes, reward_mismatches
from clew.machines.deciding.perfect import perfect
from clew.machines.deciding.potential import PotentialSparsity, potential_sparsity
from clew.machines.deciding.spaces import in_words, spaces
from clew.machines.deciding.structure import admits
from clew.machines.model.reward_machine import PomdpRM, check_propositions


@dataclass(frozen=True)
class Examination:
    """The answers, each of which was verified."""

    product: PomdpRM
    encodes: Encodes | Differs
    structure: PomdpRM | Refuted
    """The same structure with rewards that encode, or the proof that there are none."""
    mismatch: RewardMismatch | None
    """A step that the machine rewards otherwise than the POMDP; None if it reproduces all."""
    perfect: Perfect | Mixed
    potential: PotentialSparsity | None
    """Only of a machine that encodes."""


def examine(product: PomdpRM) -> Examination:
    """Answer the questions about a given machine."""
    check_propositions(product.machine, product.labelling)
    known = spaces(product)
    proof = encodes(product, known)
    whole = perfect(product, known)
    structure = product if proof else admits(product, known)
    for certificate in (proof, whole, structure):
        if not isinstance(certificate, PomdpRM):
            verify(certificate)
    potential = potential_sparsity(product, known) if proof else None
    mismatch = next(reward_mismatches(product), None)
    return Examination(product, proof, structure, mismatch, whole, potential)


def machine_summary(examined: Examination) -> dict[str, object]:
    """The answers as plain data, for JSON."""
    pomdp, machine = examined.product.pomdp, examined.product.machine
    proof, whole, potential = examined.encodes, examined.perfect, examined.potential
    differs = {} if isinstance(proof, Encodes) else {
        "after": in_words(pomdp, proof.history),
        "returns": {
            pomdp.actions[action]: {"pomdp": str(both.pomdp), "machine": str(both.machine)}
            for action, both in (
                (proof.default, proof.with_default), (proof.action, proof.with_action)
            )
        },
    }  # fmt: skip
    confused = {} if isinstance(whole, Perfect) else {
        "histories": [in_words(pomdp, whole.first), in_words(pomdp, whole.second)],
        "told_apart_by": pomdp.actions[whole.action],
    }  # fmt: skip
    return {
        "name": machine.name,
        "states": len(machine.states),
        "encodes": isinstance(proof, Encodes),
        "differs": differs or None,
        "other_rewards_encode": isinstance(examined.structure, PomdpRM),
        "step_by_step": examined.mismatch is None,
        "perfect": isinstance(whole, Perfect),
        "confuses": confused or None,
        "potentially_sparse": potential.sparse if potential else None,
    }
