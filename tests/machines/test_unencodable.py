"""Rewards that no finite machine encodes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.machines import Labelling, Pomdp, PomdpRM, RewardMachine, gallery
from clew.machines.certificates.claims import Refuted, Unencodable
from clew.machines.certificates.verify import Rejected, verify
from clew.machines.deciding.density import size_bound
from clew.machines.deciding.pairs import decide_pairs
from clew.machines.deciding.structure import admits
from clew.machines.deciding.unencodable import unencodable
from clew.machines.model.belief import close
from clew.machines.model.reward_machine import Edge


def proof(name: str, **options: object) -> Unencodable | None:
    return unencodable(close(gallery.make(name, **options), 50))


@pytest.mark.parametrize("name", ["Tiger", "Coin"])
def test_no_machine_encodes_these(name: str) -> None:
    found = proof(name)
    assert found is not None
    verify(found)


@given(st.integers(1, 5), st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_and_indeed_no_random_structure_admits_rewards_that_do(states: int, seed: int) -> None:
    pomdp = gallery.make("Tiger")
    labelling = Labelling.injective(pomdp)
    labels = {labelling(o, a, o2) for o in range(3) for a in range(3) for o2 in range(3)}
    edges = tuple(
        {label: Edge((seed >> i) * (u + 3) % states, Fraction(0)) for i, label in enumerate(labels)}
        for u in range(states)
    )
    machine = RewardMachine(tuple(f"u{u}" for u in range(states)), edges)
    assert isinstance(admits(PomdpRM(pomdp, labelling, machine)), Refuted)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Tiger", {"hearing": "1/2"}),  # nothing is heard
        ("Tiger", {"hearing": "1"}),  # one look is enough
        ("Coin", {"horizon": 4}),
        ("Cue", {}),
        ("MysteryCell", {}),
        ("Shuttle", {}),  # one state encodes it, however many posteriors there are
        ("4x3", {}),
    ],
)
def test_others_are_not_called_so(name: str, options: dict) -> None:
    assert proof(name, **options) is None


QUARTERS = st.integers(0, 4).map(lambda n: Fraction(n, 4))


@st.composite
def looks_and_guesses(draw: st.DrawFn) -> Pomdp:
    """A hidden value for ever; looking shows one of two signs, guesses pay and end."""
    n = draw(st.integers(2, 3))
    chances = [draw(QUARTERS) for _ in range(n)]
    pays = [[draw(st.integers(0, 1)) for _ in range(n)] for _ in range(2)]
    return Pomdp.build(
        states=[*(f"z{z}" for z in range(n)), "end"],
        actions=["look", "guess 0", "guess 1"],
        observations=["plus", "minus", "over"],
        p=lambda s, a: s if a == "look" else "end",
        omega=lambda s: (
            "over" if s == "end" else {"plus": chances[int(s[1])], "minus": 1 - chances[int(s[1])]}
        ),
        r=lambda s, a, after: 0 if s == "end" or a == "look" else pays[int(a[-1])][int(s[1])],
        gamma="9/10",
        mu={f"z{z}": Fraction(1, n) for z in range(n)},
        terminal=["end"],
    )


@given(looks_and_guesses())
@settings(max_examples=150, deadline=None)
def test_called_so_only_where_distinctions_keep_coming(pomdp: Pomdp) -> None:
    """With a proof, ever more posteriors force more distinctions. (They may without one too.)"""
    found = unencodable(close(pomdp, 30))
    if found is not None:
        verify(found)
        bounds = [size_bound(decide_pairs(close(pomdp, limit))).states for limit in (30, 90)]
        assert bounds[1] > bounds[0]


def test_a_certificate_that_was_tampered_with_is_rejected() -> None:
    found = proof("Tiger")
    assert found is not None
    listen, left, right = range(3)
    assert (found.repeated, found.actions) == (listen, (left, right))
    quiet = gallery.make("Tiger", hearing="1/2")
    for change, why in (
        ({"actions": (left, left)}, "changes nothing"),
        ({"actions": (listen, left)}, "not forgetful"),
        ({"repeated": left}, "moves a state"),
        ({"history": found.history[:1]}, "moves a state|changes nothing"),
        ({"history": (found.history[-1],)}, "cannot happen"),
        ({"pomdp": quiet}, "changes nothing"),
    ):
        with pytest.raises(Rejected, match=why):
            verify(replace(found, **change))  # type: ignore[arg-type]
