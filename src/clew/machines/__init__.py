"""Finite POMDPs and reward machines: what a reward supervises, decided in exact fractions.

    from clew.machines import Pomdp, classify, gallery
    answer = classify(gallery.make("Cue"))

Nothing here imports jax but `jax_worlds`, which `Pomdp.from_env` imports when it is asked to.
"""  # fmt: skip

from clew.machines import gallery
from clew.machines.belief import Filter, close, filter_machine
from clew.machines.bound import size_bound
from clew.machines.classify import Classification, classify
from clew.machines.density import Dense, Sparse, Undecided, density
from clew.machines.encodes import Differs, Encodes, encodes, surprises
from clew.machines.examine import examine
from clew.machines.machine import Edge, Label, Labelling, RewardMachine
from clew.machines.pairs import decide_pairs
from clew.machines.perfect import Mixed, Perfect, perfect
from clew.machines.policy import optimal, ranking
from clew.machines.pomdp import Begin, Branch, Pomdp
from clew.machines.potential import greedy, potential_sparsity
from clew.machines.product import PomdpRM, with_latent_machine
from clew.machines.profile import profile
from clew.machines.redundancy import redundancy
from clew.machines.structure import Refuted, admits
from clew.machines.verify import Rejected, verify

__all__ = [
    "Begin",
    "Branch",
    "Classification",
    "Dense",
    "Differs",
    "Edge",
    "Encodes",
    "Filter",
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
    "classify",
    "close",
    "decide_pairs",
    "density",
    "encodes",
    "examine",
    "filter_machine",
    "gallery",
    "greedy",
    "optimal",
    "perfect",
    "potential_sparsity",
    "profile",
    "ranking",
    "redundancy",
    "size_bound",
    "surprises",
    "verify",
    "with_latent_machine",
]
