"""Which commands there are."""

from __future__ import annotations

from clew.registry import Registry

COMMANDS: Registry[None] = Registry("command", "clew.cli.commands")
register = COMMANDS.register
"""Decorates a function with the name of its command.

Its parameters are the arguments: those before `/` by position, the others by flag. Its docstring
is the help, with a line for each parameter under `Args:`. What is slow to import, jax above all, a
command's file imports inside its functions: `clew COMMAND --help` should not have to wait for it.
"""
