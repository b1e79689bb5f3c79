"""TinyReproduce: a sequence is dictated, then to be played back. Nothing can be sought."""

from clew.envs.registry import worlds

worlds.add("TinyReproduce", "clew.envs.worlds.tiny_reproduce.world:TinyReproduce")
