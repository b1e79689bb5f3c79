"""MysteryPath-Grid: an invisible path must be found by falling off it, and be remembered."""

from clew.envs.registry import Display, environments, show_as

environments.add("MysteryPath-Grid", "clew.envs.worlds.mystery_path.world:MysteryPath")
show_as("MysteryPath-Grid", Display("MPG", threshold=0.30, order=1))
