"""Pictures: reward machines as graphs, and histories that look the same as strips or films."""

from clew.machines.draw.dot import to_dot
from clew.machines.draw.histories import STRIPS, draw_histories
from clew.machines.draw.pictures import FORMATS, to_file, to_svg

__all__ = ["FORMATS", "STRIPS", "draw_histories", "to_dot", "to_file", "to_svg"]
