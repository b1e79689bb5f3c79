"""Pairs decided as arrays, against their definitions, one pair after the other."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clew.machines import Begin, Branch, Pomdp
from clew.machines.certificates.claims import Pair
from clew.machines.deciding.bisimulation import Classes
from clew.machines.deciding.encodes import encodes
from clew.machines.deciding.pairs import Pairs, decide_pairs
from clew.machines.deciding.witness import pooling_machine
from clew.machines.model.belief import close
from tests.machines.tiny import tiny_pomdps

Way = tuple[Pair, Fraction]
"""The pair after one next observation, and its signed probability."""


def binding(classes: Classes, pair: Pair) -> dict[int, list[Way]]:
    """By action with one law: where it leads."""
    (c, d), found = pair, dict[int, list[Way]]()
    for a, (one, two) in enumerate(zip(classes.law[c], classes.law[d], strict=False)):
        if one == two:
            ways = []
            for o, p in classes.chances[one].items():
                e, f = classes.after[c][a][o], classes.after[d][a][o]
                if e != f:
                    ways.append(((min(e, f), max(e, f)), p if e < f else -p))
            found[a] = ways
    return found


def all_pairs(classes: Classes) -> list[Pair]:
    seen = classes.observation
    return [(c, d) for c, d in combinations(range(len(seen)), 2) if seen[c] == seen[d]]


def free(classes: Classes) -> dict[Pair, int]:
    """The least fixpoint, round by round."""
    found: dict[Pair, int] = {}
    for rank in range(len(all_pairs(classes)) + 1):
        new = [
            pair
            for pair in all_pairs(classes)
            if pair not in found
            and all(any(q in found for q, _ in ways) for ways in binding(classes, pair).values())
        ]
        found |= dict.fromkeys(new, rank)
    return found


def asked(pairs: Pairs, pair: Pair, action: int, ways: list[Way]) -> Fraction:
    c, d = pair
    mean = pairs.classes.mean
    after = sum((p * pairs.forced[q] for q, p in ways), Fraction(0))
    return mean[d][action] - mean[c][action] + pairs.beliefs.pomdp.discount * after


@given(tiny_pomdps(max_states=5, max_actions=3, ends=True))
def test_every_pair_is_decided_as_defined(pomdp: Pomdp) -> None:
    pairs = decide_pairs(close(pomdp, 60))
    classes = pairs.classes
    assume(len(classes.of) > 1)
    assert dict(pairs.rank) == free(classes)
    held = [pair for pair in all_pairs(classes) if pair not in pairs.rank]
    assert set(pairs.chosen) == set(pairs.forced) == set(held)
    assert len(pairs.chosen) == len(held)
    for pair in held:
        ways = binding(classes, pair)
        options = {a: way for a, way in ways.items() if not any(q in pairs.rank for q, _ in way)}
        gaps = {a: asked(pairs, pair, a, way) for a, way in options.items()}
        assert gaps[pairs.chosen[pair]] == pairs.forced[pair]
        assert (len(set(gaps.values())) > 1) == (pair in pairs.conflicts)
        if pair in pairs.conflicts:
            assert gaps[pairs.conflicts[pair]] != pairs.forced[pair]


@given(tiny_pomdps(max_states=5, max_actions=3, ends=True))
def test_a_route_leads_to_a_conflict_and_none_is_missing(pomdp: Pomdp) -> None:
    pairs = decide_pairs(close(pomdp, 60))
    after, apart = pairs.classes.after, set(pairs.conflicts)
    ways = {
        pair: {
            (a, o): (min(c, d), max(c, d))
            for a, (one, two) in enumerate(zip(*(after[each] for each in pair), strict=False))
            for o in one.keys() & two.keys()
            for c, d in [(one[o], two[o])]
        }
        for pair in all_pairs(pairs.classes)
    }
    for _ in ways:
        apart |= {pair for pair, way in ways.items() if apart & {*way.values()}}
    assert set(pairs.route) == apart
    for pair, step in pairs.route.items():
        assert (step is None) == (pair in pairs.conflicts)
        assert step is None or ways[pair][step] in apart


@given(tiny_pomdps(max_states=5, max_actions=3, ends=True), st.integers(1, 60))
def test_what_is_no_pair_is_not_among_them(pomdp: Pomdp, limit: int) -> None:
    """A class and itself, classes that look different, a filter that was hardly begun."""
    pairs = decide_pairs(close(pomdp, limit))
    real = {*all_pairs(pairs.classes)}
    every = {*product(range(len(pairs.classes.members)), repeat=2)}
    for mapping in (pairs.rank, pairs.chosen, pairs.forced):
        assert {pair for pair in every if pair in mapping} == {*mapping} <= real
    assert {*pairs.rank} | {*pairs.chosen} == real


def test_cells_of_one_class_after_a_pooled_pair() -> None:
    """X and Y may be pooled; what follows X looks like X1, which is of the same class."""
    states = ("X1", "Y1", "X0", "Y0", "X", "Y", "X2", "Y2", "R", "S", "E")
    seen = ("p", "x", "y", "o", "q", "r", "s", "e")

    def to(state: str, observation: str, chance: Fraction | int = 1, reward: int = 0) -> Branch:
        where = states.index(state), seen.index(observation)
        return Branch(*where, Fraction(chance), Fraction(reward))

    half, end = Fraction(1, 2), to("E", "e")
    steps = {
        "X1": (to("E", "e", half, 1), to("E", "e", half, -1)), "Y1": (end,),
        "X0": (to("X", "o"),), "Y0": (to("Y", "o"),),
        "X": (to("X1", "p", half, 1), to("X2", "q", half, 1)),
        "Y": (to("Y1", "p", half), to("Y2", "q", half)),
        "X2": (to("R", "r"),), "Y2": (to("S", "s"),), "R": (end,), "S": (end,), "E": (end,),
    }  # fmt: skip
    third = Fraction(1, 3)
    begins = (("X1", "p"), ("X0", "x"), ("Y0", "y"))
    pomdp = Pomdp(
        states=states,
        actions=("a",),
        observations=seen,
        start=tuple(Begin(states.index(s), seen.index(o), third) for s, o in begins),
        steps=tuple((steps[state],) for state in states),
        discount=half,
        terminal=frozenset({states.index("E")}),
    )
    pairs = decide_pairs(close(pomdp))
    cell = {states[c.posterior[0][0]]: i for i, c in enumerate(pairs.beliefs.cells)}
    assert pairs.poolable(cell["X"], cell["Y"])
    machine = pooling_machine(pairs, cell["X"], cell["Y"])
    assert machine is not None
    assert encodes(machine)


@pytest.mark.parametrize("actions", [40_000])
def test_any_number_of_actions(actions: int) -> None:
    """Each pays what no other does, after either of two histories."""
    stay = [
        tuple((Branch(z, 2, Fraction(1), Fraction(z * a)),) for a in range(actions)) for z in (0, 1)
    ]
    pomdp = Pomdp(
        states=("0", "1"),
        actions=tuple(map(str, range(actions))),
        observations=("zero", "one", "same"),
        start=(Begin(0, 0, Fraction(1, 2)), Begin(1, 1, Fraction(1, 2))),
        steps=tuple(stay),
        discount=Fraction(1, 2),
    )
    assert len(decide_pairs(close(pomdp)).conflicts) == 1
