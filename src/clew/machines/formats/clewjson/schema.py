"""What reader and writer agree on."""

from __future__ import annotations

from clew.machines.machine import RewardMachine
from clew.machines.pomdp import Pomdp
from clew.machines.product import PomdpRM

FORMAT, VERSION = "clew.machines", 1
POMDP, MACHINE, PRODUCT = "pomdp", "reward machine", "pomdp with reward machine"
Model = Pomdp | RewardMachine | PomdpRM
