"""A reward variant of a world that ships: half of it for the tokens, half for the whole."""

from clew.envs.worlds.tiny_reproduce.world import TinyReproduce

TinyReproduce.rewards["half"] = lambda world: {"correct": 0.5 / world.k, "total": 0.5 / world.k}
