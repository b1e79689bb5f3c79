"""Tiny random POMDPs, and a brute force over machines that shares no code with the answers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from hypothesis import strategies as st

from clew.machines import Begin, Branch, Pomdp
from clew.machines.model.belief import Filter

PRIME = 2**61 - 1
Site = tuple[int, int]
"""(cell, machine state)."""
Structure = dict[tuple[int, int, int, int], int]
"""(machine state, o, a, o') → machine state."""


@st.composite
def tiny_pomdps(
    draw: st.DrawFn, max_states: int = 4, max_actions: int = 2, ends: bool = False
) -> Pomdp:
    """Few states and observations; chances are halves, rewards 0, 1 or 2.

    With `ends`, some steps end the episode and look like any other; by chance, all do in time.
    """
    n_states = draw(st.integers(2, max_states))
    n_actions = draw(st.integers(1, max_actions))
    n_observations = draw(st.integers(1, 2))
    shows = [draw(st.integers(0, n_observations - 1)) for _ in range(n_states)]
    state = st.integers(0, n_states - 1)
    # an end for each observation it can be seen as
    over = {n_states + o: o for o in range(n_observations)} if ends else {}
    # one action more often does nothing but wait, so that gaps have time to matter
    random_steps = draw(st.booleans())

    def row(s: int) -> tuple[Branch, ...]:
        reward = draw(st.sampled_from((0, 0, 1, 2)))
        targets = {draw(state), draw(state)} if random_steps else {draw(state)}
        if over and draw(st.booleans()):
            targets = {draw(st.sampled_from(sorted(over))), *list(targets)[1:]}
        chance = Fraction(1, len(targets))
        seen = {**dict(enumerate(shows)), **over}
        return tuple(Branch(t, seen[t], chance, Fraction(reward)) for t in sorted(targets))

    begins = sorted({0, draw(state), draw(state)})
    return Pomdp(
        states=(*(f"s{s}" for s in range(n_states)), *(f"end seen as {o}" for o in over.values())),
        actions=tuple(f"a{a}" for a in range(n_actions)),
        observations=tuple(f"o{o}" for o in range(n_observations)),
        start=tuple(Begin(s, shows[s], Fraction(1, len(begins))) for s in begins),
        steps=(
            *(tuple(row(s) for _ in range(n_actions)) for s in range(n_states)),
            *(((Branch(s, o, Fraction(1), Fraction(0)),),) * n_actions for s, o in over.items()),
        ),
        discount=draw(st.sampled_from((Fraction(1, 2), Fraction(9, 10)))),
        terminal=frozenset(over),
    )


def structures(beliefs: Filter, n: int) -> Iterator[tuple[Structure, list[Site]]]:
    """Every machine structure of up to n states, with the (cell, state) pairs that it reaches.

    A transition is decided when it first comes up, and a new state is always the next number:
    structures that differ only in what never happens, or in names, come up once.
    """

    def grow(
        structure: Structure, sites: list[Site], done: int, used: int
    ) -> Iterator[tuple[Structure, list[Site]]]:
        # `sites` grows while it is walked
        for place, (cell, u) in islice(enumerate(sites), done, None):
            for a, row in enumerate(beliefs.rows[cell]):
                for (o2, _), after in zip(row.law, row.after, strict=True):
                    key = (u, beliefs.cells[cell].observation, a, o2)
                    if key not in structure:
                        for v in range(min(used + 1, n)):
                            yield from grow(
                                {**structure, key: v}, list(sites), place, max(used, v + 1)
                            )
                        return
                    site = (after, structure[key])
                    if site not in sites:
                        sites.append(site)
        yield structure, sites

    yield from grow({}, [(cell, 0) for cell, _ in beliefs.start], 0, 1)


def mixes(beliefs: Filter, sites: list[Site]) -> bool:
    """Whether two cells with one observation and different next steps share a machine state."""
    law: dict[tuple[int, int], object] = {}
    for cell, u in sites:
        here = [row.joint for row in beliefs.rows[cell]]
        if law.setdefault((u, beliefs.cells[cell].observation), here) != here:
            return True
    return False


def has_rewards(beliefs: Filter, structure: Structure, sites: list[Site]) -> bool:
    """Whether some rewards make a structure encode: Ψ per (cell, state), solved modulo a prime."""
    gamma = beliefs.pomdp.discount
    rows: list[dict[object, Fraction]] = [{("psi", cell, 0): p for cell, p in beliefs.start}]
    for cell, u in sites:
        for a, row in enumerate(beliefs.rows[cell]):
            left: dict[object, Fraction] = {("psi", cell, u): Fraction(-1), "right": row.mean}
            for o2, _, _, p in row.joint:
                key = (u, beliefs.cells[cell].observation, a, o2)
                left[key] = left.get(key, Fraction(0)) + p
            for (o2, p), after in zip(row.law, row.after, strict=True):
                key = (u, beliefs.cells[cell].observation, a, o2)
                psi = ("psi", after, structure[key])
                left[psi] = left.get(psi, Fraction(0)) + gamma * p
            rows.append(left)
    return _consistent(rows)


def _consistent(rows: list[dict[object, Fraction]]) -> bool:
    pivots: list[tuple[object, dict[object, int]]] = []
    for fractions in rows:
        row = {
            x: value.numerator * pow(value.denominator, -1, PRIME) % PRIME
            for x, value in fractions.items()
        }
        for pivot, other in pivots:
            factor = row.get(pivot, 0)
            if factor:
                for x, value in other.items():
                    row[x] = (row.get(x, 0) - factor * value) % PRIME
        row = {x: value for x, value in row.items() if value}
        unknowns = [x for x in row if x != "right"]
        if unknowns:
            scale = pow(row[unknowns[0]], -1, PRIME)
            pivots.append((unknowns[0], {x: v * scale % PRIME for x, v in row.items()}))
        elif row:
            return False
    return True
