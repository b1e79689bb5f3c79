"""What can be said about one machine on one POMDP."""

from __future__ import annotations

from dataclasses import dataclass

from clew.machines.certificates.claims import Differs, Encodes, Mixed, Perfect, Refuted
from clew.machines.certificates.verify import verify
from clew.machines.deciding.encodes import Surprise, encodes, surprises
from clew.machines.deciding.perfect import perfect
from clew.machines.deciding.potential import PotentialSparsity, potential_sparsity
from clew.machines.deciding.spaces import spaces
from clew.machines.deciding.structure import admits
from clew.machines.model.reward_machine import PomdpRM, check_propositions


@dataclass(frozen=True)
class Examination:
    """The answers, each of which was verified."""

    product: PomdpRM
    encodes: Encodes | Differs
    structure: PomdpRM | Refuted
    """The same structure with rewards that encode, or the proof that there are none."""
    surprise: Surprise | None
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
    surprise = next(surprises(product), None)
    return Examination(product, proof, structure, surprise, whole, potential)
