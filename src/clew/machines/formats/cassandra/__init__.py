"""Cassandra's `.POMDP` format, read and written."""

from clew.machines.formats.cassandra.read import FIRST, parse_pomdp
from clew.machines.formats.cassandra.write import pomdp_text

__all__ = ["FIRST", "parse_pomdp", "pomdp_text"]
