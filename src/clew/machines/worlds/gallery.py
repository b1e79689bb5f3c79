"""POMDPs by name: `gallery.make("Cue")`, `gallery.names()`; `@register("Name")` adds a builder."""

from __future__ import annotations

from clew.machines.model.pomdp import Pomdp
from clew.registry import Registry

gallery: Registry[Pomdp] = Registry("POMDP", package="clew.machines.worlds.library")
register = gallery.register
