"""TinyReproduce: a sequence is dictated, then to be played back. Nothing can be sought."""

from clew.envs.registry import environments

environments.add("TinyReproduce", "clew.envs.worlds.tiny_reproduce.world:TinyReproduce")
