"""Finite POMDPs and reward machines: what a reward supervises, decided in exact fractions.

    from clew.machines import Pomdp, classify, gallery
    answer = classify(gallery.make("Cue"))

In the order of reading: `model` (what is reasoned about), `deciding` (the answers),
`certificates` (the proofs, checked by `verify`), `exact` (the algebra), `worlds` (where POMDPs
come from), `formats` and `draw` (files and pictures), `tasks` (what is proved of a study's tasks).
Nothing here imports jax, except what `from_env` imports when it is called.
"""  # fmt: skip

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.lazy import import_on_use

if TYPE_CHECKING:
    from clew.machines.certificates.claims import (
        Dense,
        Differs,
        Encodes,
        Mixed,
        Perfect,
        Refuted,
        Sparse,
        Undecided,
    )
    from clew.machines.certificates.verify import Rejected, verify
    from clew.machines.deciding.classify import Classification, classify
    from clew.machines.deciding.density import density, size_bound
    from clew.machines.deciding.diagnosis import redundancy
    from clew.machines.deciding.encodes import encodes, reward_mismatches
    from clew.machines.deciding.examine import examine
    from clew.machines.deciding.optimal import optimal, ranking
    from clew.machines.deciding.pairs import decide_pairs
    from clew.machines.deciding.perfect import perfect
    from clew.machines.deciding.potential import greedy, potential_sparsity
    from clew.machines.deciding.profile import profile
    from clew.machines.deciding.structure import admits
    from clew.machines.model.belief import Filter, close
    from clew.machines.model.pomdp import Begin, Branch, Pomdp
    from clew.machines.model.reward_machine import (
        Edge,
        Label,
        Labelling,
        PomdpRM,
        RewardMachine,
    )
    from clew.machines.worlds import from_env
    from clew.machines.worlds.gallery import gallery
    from clew.machines.worlds.knowledge import KnowledgeProof, check_knowledge

__getattr__ = import_on_use(__name__)
__all__ = [
    "Begin",
    "Branch",
    "Classification",
    "Dense",
    "Differs",
    "Edge",
    "Encodes",
    "Filter",
    "KnowledgeProof",
    "Label",
    "Labelling",
    "Mixed",
    "Perfect",
    "Pomdp",
    "PomdpRM",
    "Refuted",
    "Rejected",
    "RewardMachine",
    "Sparse",
    "Undecided",
    "admits",
    "check_knowledge",
    "classify",
    "close",
    "decide_pairs",
    "density",
    "encodes",
    "examine",
    "from_env",
    "gallery",
    "greedy",
    "optimal",
    "perfect",
    "potential_sparsity",
    "profile",
    "ranking",
    "redundancy",
    "reward_mismatches",
    "size_bound",
    "verify",
]
