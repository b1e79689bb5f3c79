"""A `RewardMachine` into reward-machine text.

Rewards that are no decimal are written as a quotient, `ConstantRewardFunction(1/3)`, which the
original code computes and our reader keeps exact.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from clew.machines.formats.rmtext.formula import formula_text, subsets
from clew.machines.formats.rmtext.read import CONSTANT
from clew.machines.model.reward_machine import Edge, Label, RewardMachine
from clew.validate import BadInput, whole_number

MOST = 10
"""Propositions, at most: formulas over more are not looked for."""
_NAME = re.compile(r"[^\s!&|()'\",\\#]+")


def machine_text(machine: RewardMachine, propositions: Iterable[str] = ()) -> str:
    """The text of `machine` over its own and the given propositions.

    A state is written as its number: its name, if that is a number, and otherwise its place.
    """
    names = sorted(machine.propositions | set(propositions))
    bad = [name for name in names if not _NAME.fullmatch(name) or name in ("True", "False")]
    if bad:
        raise BadInput(
            f"proposition {bad[0]!r} cannot be written in a formula; a valid name has no blanks, "
            "quotes, brackets, commas or any of '!&|#\\', and is not 'True' or 'False'"
        )
    whole_number("number of propositions", len(names), 0, MOST)
    numbers = _numbers(machine)
    labels = list(subsets(names))
    ends = ",".join(str(numbers[u]) for u in sorted(machine.terminal))
    lines = [f"{numbers[machine.initial]} # initial state", f"[{ends}] # terminal states"]
    unsaid = set(names)
    for u in range(len(machine.states)):
        if u not in machine.terminal:
            for edge, formula in _transitions(machine, u, labels, names):
                unsaid -= set(_NAME.findall(formula))
                reward = f"{CONSTANT}({_number(edge.reward)})"
                lines.append(f"({numbers[u]},{numbers[edge.state]},'{formula}',{reward})")
    if unsaid and len(lines) > 2:
        before, formula, after = lines[2].split("'")
        lines[2] = f"{before}'{_naming(sorted(unsaid), formula)}'{after}"
    return "\n".join(lines) + "\n"


def _transitions(
    machine: RewardMachine, u: int, labels: list[Label], names: list[str]
) -> Iterable[tuple[Edge, str]]:
    ways: dict[Edge, list[Label]] = defaultdict(list)
    for label in labels:
        ways[machine.step(u, label)].append(label)
    return ((edge, formula_text(those, names)) for edge, those in sorted(ways.items()))


def _naming(names: list[str], formula: str) -> str:
    """The same formula with these propositions in it: a reader knows those that it sees, and no
    others, even where nothing depends on them."""
    clause, *rest = formula.split("|")
    literals = [names[0], f"!{names[0]}", *names[1:]]
    wider = literals if clause == "True" else [f"{clause}&{literal}" for literal in literals]
    return "|".join((*wider, *rest))


def _numbers(machine: RewardMachine) -> list[int]:
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", name, re.ASCII) for name in machine.states):
        return [int(name) for name in machine.states]
    return list(range(len(machine.states)))


def _number(value: Fraction) -> str:
    """A whole number, or a quotient of two."""
    text = str(value)
    if max(len(part) for part in text.split("/")) > 50:
        raise BadInput(
            f"reward {text[:40]}… has too many digits for this format; write JSON instead"
        )
    return text
