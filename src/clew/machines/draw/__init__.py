"""Reward machines as pictures: ⟨label, reward⟩ on every edge, `o/w` for all other labels."""

from clew.machines.draw.dot import to_dot
from clew.machines.draw.files import to_pdf, to_svg

__all__ = ["to_dot", "to_pdf", "to_svg"]
