"""Finite POMDPs and reward machines: what a reward supervises, decided in exact fractions."""

from clew.machines.machine import Edge, Label, Labelling, RewardMachine
from clew.machines.pomdp import Begin, Branch, Pomdp
from clew.machines.product import PomdpRM, with_latent_machine

__all__ = [
    "Begin",
    "Branch",
    "Edge",
    "Label",
    "Labelling",
    "Pomdp",
    "PomdpRM",
    "RewardMachine",
    "with_latent_machine",
]
