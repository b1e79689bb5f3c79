"""What a module of somebody's own can add besides worlds, memories, bonuses, suites and latents.

`tests/test_extending.py` copies this folder elsewhere, and a suite or a flag names its modules.
"""
