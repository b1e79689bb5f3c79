"""TinyReproduce: a sequence is dictated, then to be played back. Nothing can be sought."""

from clew.envs.registry import Display, environments, show_as

environments.add("TinyReproduce", "clew.envs.worlds.tiny_reproduce.world:TinyReproduce")
show_as("TinyReproduce", Display("Tiny", threshold=0.50, order=4))
