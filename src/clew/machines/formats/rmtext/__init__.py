"""The reward-machine text format of Toro Icarte et al., read without running it, and written."""

from clew.machines.formats.rmtext.read import parse_machine
from clew.machines.formats.rmtext.write import machine_text

__all__ = ["machine_text", "parse_machine"]
