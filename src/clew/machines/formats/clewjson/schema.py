"""What reader and writer agree on."""

from __future__ import annotations

from clew.machines.model.pomdp import Pomdp
from clew.machines.model.reward_machine import PomdpRM, RewardMachine

FORMAT, VERSION = "clew.machines", 1
POMDP, MACHINE, PRODUCT = "pomdp", "reward machine", "pomdp with reward machine"
Model = Pomdp | RewardMachine | PomdpRM
