"""A reward machine in Graphviz's language: ⟨condition, reward⟩ on every edge. Needs no package.

Transitions from one state to another are one edge. Its condition is a set of propositions, or a
formula where those are shorter; `o/w` stands for all labels that are not named at that state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from clew.machines.formats.rmtext.formula import formula_text
from clew.machines.model.reward_machine import Edge, Label, RewardMachine

OTHERWISE = "o/w"
SIMPLE = 6
"""Propositions, at most, over which a shorter formula is looked for."""
ALTERNATIVES, CHARACTERS = 4, 48
"""What is written out of a condition; the rest is in the edge's tooltip."""
Groups = Mapping[Edge, "list[Label] | None"]
"""Labels by what they do. None: all other labels, which change and pay nothing."""


def to_dot(machine: RewardMachine) -> str:
    """The machine as a directed graph, which `to_svg` and other Graphviz programs draw."""
    short = all(len(name) <= 5 for name in machine.states)
    shape = "shape=circle, style=filled" if short else 'shape=box, style="rounded,filled"'
    lines = [
        f"digraph {_quote(machine.name)} {{",
        "  rankdir=LR;",
        f'  node [{shape}, fillcolor=white, fontname="Times"];',
        '  edge [fontname="Times", arrowsize=0.8];',
        '  start [shape=point, style=invis, label=""];',
    ]
    for u, name in enumerate(machine.states):
        ends = ', peripheries=2, fillcolor="#ececec"' if u in machine.terminal else ""
        lines.append(f"  s{u} [label={_quote(name)}{ends}];")
    lines.append(f"  start -> s{machine.initial};")
    for (u, v), ways in _edges(machine).items():
        label = [_line(parts, reward) for parts, reward in ways]
        full = "; ".join(f"⟨{' ∨ '.join(parts)}, {_number(r)}⟩" for parts, r in ways)
        tooltip = f", labeltooltip={_quote(full)}" if "…" in "".join(label) else ""
        lines.append(f"  s{u} -> s{v} [label={_quote(*label)}{tooltip}];")
    return "\n".join([*lines, "}"]) + "\n"


def _edges(machine: RewardMachine) -> dict[tuple[int, int], list[tuple[list[str], Fraction]]]:
    """By source and target: the alternatives of each condition, and the reward; `o/w` last."""
    groups = {
        u: _groups(machine, u) for u in range(len(machine.states)) if u not in machine.terminal
    }
    write = _writer(machine, groups)
    edges: dict[tuple[int, int], list[tuple[list[str], Fraction]]] = defaultdict(list)
    for u, ways in groups.items():
        for edge, labels in ways.items():
            edges[u, edge.state].append((write(labels), edge.reward))
    for ways in edges.values():
        ways.sort(key=lambda way: (way[0] == [OTHERWISE], -way[1]))
    return edges


def _groups(machine: RewardMachine, u: int) -> Groups:
    groups: dict[Edge, list[Label] | None] = {}
    stay = Edge(u, Fraction(0))
    for label, edge in sorted(machine.edges[u].items(), key=lambda item: sorted(item[0])):
        if edge != stay:
            groups[edge] = [*(groups.get(edge) or []), label]
    if sum(map(len, filter(None, groups.values()))) < 2 ** len(machine.propositions):
        groups[stay] = None
    return groups


def _writer(
    machine: RewardMachine, groups: Mapping[int, Groups]
) -> Callable[[list[Label] | None], list[str]]:
    """How to write conditions: all as sets or all as formulas, whichever is shorter."""
    names = sorted(machine.propositions)

    def sets(labels: Sequence[Label]) -> list[str]:
        return [_set(label) for label in labels]

    def formulas(labels: Sequence[Label]) -> list[str]:
        parts = formula_text(labels, names).split("|")
        return [part.replace("&", " ∧ ").replace("!", "¬") for part in parts]

    said = [labels for ways in groups.values() for labels in ways.values() if labels]
    short = sets
    legible = all(not set(name) & set("&|!") for name in names) and len(names) <= SIMPLE
    if legible and any(len(labels) > 1 for labels in said):
        lengths = {
            say: sum(len(" ∨ ".join(say(labels))) for labels in said) for say in (sets, formulas)
        }
        short = min(lengths, key=lambda say: lengths[say])
    return lambda labels: [OTHERWISE] if labels is None else short(labels)


def _set(label: Label) -> str:
    names = sorted(label)
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}" if names else "∅"


def _line(parts: list[str], reward: Fraction) -> str:
    shown = parts if len(parts) <= ALTERNATIVES else parts[: ALTERNATIVES - 1]
    text = " ∨ ".join(shown)
    if len(parts) > len(shown):
        text += f" ∨ … ({len(parts)})"
    text = text if len(text) <= CHARACTERS else text[: CHARACTERS - 1] + "…"
    return f"⟨{text}, {_number(reward)}⟩"


def _number(value: Fraction) -> str:
    text = str(value).replace("-", "−")
    return text if len(text) <= 14 else f"≈{float(value):.6g}".replace("-", "−")


def _quote(*lines: str) -> str:
    """Lines as a string of Graphviz, to which `&lt;` and `\\N` would mean something else.

    No name breaks a line: an empty first line can end Graphviz 14, and Python with it.
    """
    printable = ("".join(c if c.isprintable() else "�" for c in line) for line in lines)
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in printable)
    return '"' + "\\n".join(line.replace("&", "&amp;") for line in escaped) + '"'
