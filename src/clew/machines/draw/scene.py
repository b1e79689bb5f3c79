"""What there is to draw of a reward machine: states, and ⟨condition, reward⟩ on merged edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from clew.machines.draw.typeset import Line, Run, printable, state_name
from clew.machines.formats.rmtext.formula import formula_text
from clew.machines.model.reward_machine import Edge, Label, RewardMachine

OTHERWISE = "o/w"
SIMPLE = 6
"""Propositions, at most, over which a shorter formula is looked for."""
PARTS = 4
"""Alternatives of a condition that are written out."""


@dataclass(frozen=True)
class Arrow:
    """All transitions from one state to another."""

    source: int
    target: int
    lines: tuple[Line, ...]
    """One for each reward."""
    full: str
    """Everything the lines stand for, if they leave something out."""


@dataclass(frozen=True)
class Scene:
    """A machine as it is drawn."""

    title: str
    states: tuple[Line, ...]
    initial: int
    terminal: frozenset[int]
    arrows: tuple[Arrow, ...]


def scene(machine: RewardMachine) -> Scene:
    """Merge parallel transitions, and call what is left of the labels `o/w`."""
    groups = {
        u: _groups(machine, u) for u in range(len(machine.states)) if u not in machine.terminal
    }
    write = _writer(machine, groups)
    lines: dict[tuple[int, int], list[tuple[list[str], Fraction]]] = defaultdict(list)
    for u, ways in groups.items():
        for edge, labels in ways.items():
            lines[u, edge.state].append((write(labels), edge.reward))
    return Scene(
        printable(machine.name),
        _names(machine.states),
        machine.initial,
        machine.terminal,
        tuple(_arrow(u, v, those) for (u, v), those in lines.items()),
    )


def _names(states: Sequence[str]) -> tuple[Line, ...]:
    """Names with subscripts, unless two would look the same: `u0` and `u_0`."""
    pretty = [state_name(name) for name in states]
    alike = {line for line in pretty if pretty.count(line) > 1}
    return tuple(
        (Run(printable(name)),) if line in alike else line
        for name, line in zip(states, pretty, strict=True)
    )


def _groups(machine: RewardMachine, u: int) -> dict[Edge, list[Label] | None]:
    """Labels by what they do; those that do nothing, listed or not, are all the rest: None."""
    groups: dict[Edge, list[Label] | None] = {}
    stay = Edge(u, Fraction(0))
    for label, edge in sorted(machine.edges[u].items(), key=lambda item: sorted(item[0])):
        if edge != stay:
            groups[edge] = [*(groups.get(edge) or []), label]
    known = {p for row in machine.edges for label in row for p in label}
    if sum(map(len, filter(None, groups.values()))) < 2 ** len(known):
        groups[stay] = None
    return groups


def _writer(
    machine: RewardMachine, groups: Mapping[int, Mapping[Edge, list[Label] | None]]
) -> Callable[[list[Label] | None], list[str]]:
    """Labels as sets of propositions, or as formulas if those are shorter over the machine."""
    names = sorted({p for row in machine.edges for label in row for p in label})

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


def _arrow(u: int, v: int, those: Iterable[tuple[list[str], Fraction]]) -> Arrow:
    ordered = sorted(those, key=lambda item: (item[0] == [OTHERWISE], -item[1]))
    full = [f"⟨{' ∨ '.join(parts)}, {_number(reward)}⟩" for parts, reward in ordered]
    lines = tuple(_line(parts, reward) for parts, reward in ordered)
    return Arrow(u, v, lines, printable("; ".join(full)))


def _line(parts: list[str], reward: Fraction) -> Line:
    shown = parts[:PARTS] if len(parts) <= PARTS else parts[: PARTS - 1]
    text = " ∨ ".join(shown)
    if len(parts) > len(shown):
        text += f" ∨ … ({len(parts)})"
    return (Run(f"⟨{printable(_cut(text))}, {_number(reward)}⟩"),)


def _cut(text: str, most: int = 48) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _number(value: Fraction) -> str:
    text = str(value).replace("-", "−")
    return text if len(text) <= 14 else f"≈{float(value):.6g}".replace("-", "−")
