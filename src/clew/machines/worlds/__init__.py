"""Where POMDPs come from: environments that are enumerated, and a gallery of known ones."""

from clew.machines.worlds.environments import from_env, smaller

__all__ = ["from_env", "smaller"]
