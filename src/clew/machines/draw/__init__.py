"""Reward machines as pictures: ⟨label, reward⟩ on every edge, `o/w` for all other labels."""

from clew.machines.draw.dot import to_dot
from clew.machines.draw.pictures import FORMATS, to_file, to_svg

__all__ = ["FORMATS", "to_dot", "to_file", "to_svg"]
