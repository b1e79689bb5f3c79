"""One world a folder. Whatever lies here and registers itself is a world.

A folder's `__init__` names the world without importing it, so that listing the worlds needs no jax.
"""
