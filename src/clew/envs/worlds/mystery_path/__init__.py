"""MysteryPath-Grid: an invisible path must be found by falling off it, and be remembered."""

from clew.envs.registry import environments

environments.add("MysteryPath-Grid", "clew.envs.worlds.mystery_path.world:MysteryPath")
