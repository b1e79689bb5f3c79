"""The end of an episode: what a machine is shown, and may pay, once it is over.

- **stops**: the step that ends an episode is the last that is seen and paid; afterwards every
  machine pays nothing. This is what an environment can do, and the default.
- **absorbing**: terminal states are states like any other, as the model writes them, and machines
  may still pay there. This is the definition read literally for a model with absorbing states.
- **hidden**: the same, but terminal states show the last observation again and again: the end
  cannot be seen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import get_args

from clew.machines.model.pomdp import Branch, End, Pomdp
from clew.validate import one_of

ENDS: tuple[End, ...] = get_args(End)
MEANING: dict[End, str] = {
    "stops": "the step that ends an episode pays last; afterwards every machine pays nothing",
    "absorbing": "an ended episode goes on in its terminal states, where machines may still pay",
    "hidden": "an ended episode goes on and shows its last observation for ever, and machines may "
    "still pay",
}


def with_end(pomdp: Pomdp, end: End) -> Pomdp:
    """The same POMDP under another convention."""
    one_of("end", end, ENDS)
    if end == "hidden" and pomdp.end != "hidden":
        pomdp = _unseen(pomdp)
    return replace(pomdp, end=end)


def _unseen(pomdp: Pomdp) -> Pomdp:
    """Every way in which an episode ends becomes a state that shows the last observation."""
    live = [s for s in range(len(pomdp.states)) if s not in pomdp.terminal]
    number: dict[tuple[int, int | None], int] = {(s, None): i for i, s in enumerate(live)}

    def branch(b: Branch) -> Branch:
        key = (b.state, b.observation if b.state in pomdp.terminal else None)
        return b._replace(state=number.setdefault(key, len(number)))

    steps = [
        tuple(tuple(branch(b) for b in row) for row in rows)
        for rows in (pomdp.steps[s] for s in live)
    ]
    ends = list(number)[len(live) :]
    for i, (_, shown) in enumerate(ends, len(live)):
        assert shown is not None
        steps.append(((Branch(i, shown, Fraction(1), Fraction(0)),),) * len(pomdp.actions))
    order = [s for s, _ in number]
    ways = Counter(order)
    names = [
        f"{pomdp.states[s]} seen as {pomdp.observations[o]}"
        if o is not None and ways[s] > 1
        else pomdp.states[s]
        for s, o in number
    ]
    start = (b._replace(state=number[b.state, None]) for b in pomdp.start)
    return replace(
        pomdp,
        states=tuple(names),
        start=tuple(start),
        steps=tuple(steps),
        terminal=frozenset(range(len(live), len(number))),
        variables={v: tuple(values[s] for s in order) for v, values in pomdp.variables.items()},
    )
