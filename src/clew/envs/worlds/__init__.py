"""One world a module or folder. Whatever lies here and registers itself is a world.

The folders' `__init__` name their world without importing it, so that listing the worlds needs
no jax.
"""
