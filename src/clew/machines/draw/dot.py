"""A machine in Graphviz's language, for those who have it."""

from __future__ import annotations

from clew.machines.draw.scene import scene
from clew.machines.model.reward_machine import RewardMachine


def to_dot(machine: RewardMachine) -> str:
    """The machine as a directed graph, the same states, arrows and labels that `to_svg` draws."""
    drawn = scene(machine)
    lines = [
        f"digraph {_quote(drawn.title)} {{",
        '  rankdir=LR; node [shape=circle, fontname="Times"]; edge [fontname="Times"];',
        '  start [shape=point, style=invis, label=""];',
    ]
    for u, name in enumerate(drawn.states):
        shape = ", shape=doublecircle" if u in drawn.terminal else ""
        lines.append(f"  s{u} [label={_quote(''.join(run.text for run in name))}{shape}];")
    lines.append(f"  start -> s{drawn.initial};")
    for arrow in drawn.arrows:
        text = "\n".join("".join(run.text for run in line) for line in arrow.lines)
        lines.append(f"  s{arrow.source} -> s{arrow.target} [label={_quote(text)}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
