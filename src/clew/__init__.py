"""Clew: will an exploration bonus help this agent on this task, or is memory the bottleneck?"""

import importlib.util

__version__ = "0.1.0"

# `import clew` is enough for `gymnasium.make("clew/…")`. Only names are registered here:
# jax is imported when an environment is made, so that the rooms without jax stay light.
if importlib.util.find_spec("gymnasium") is not None:
    from clew.envs.registry import names, register_with_gymnasium

    for _name in names():
        register_with_gymnasium(_name)
