"""Optimal play in exact fractions."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clew.machines import gallery
from clew.machines.certificates.verify import verify
from clew.machines.deciding.encodes import encodes
from clew.machines.deciding.optimal import optimal, ranking
from clew.machines.deciding.potential import (
    canonical_kernel,
    greedy,
    occupancy,
    potential_sparsity,
    reference_kernel,
)
from clew.machines.deciding.spaces import spaces
from clew.machines.formats import read
from clew.machines.model.belief import close
from clew.machines.model.pomdp import Pomdp
from tests.machines.known_machines import filter_machine, goal_machine
from tests.machines.playing import controllers_on, returns
from tests.machines.tiny import tiny_pomdps


def test_known_optima() -> None:
    assert optimal(close(gallery.make("CheeseMaze"))).value == Fraction(5274715400, 1513024231)
    assert len(close(gallery.make("CheeseMaze")).cells) == 16


@pytest.mark.skipif("CLEW_POMDP_FILES" not in os.environ, reason="needs a folder of POMDPs")
@pytest.mark.parametrize(
    ("file", "posteriors", "value"),
    [
        ("1d", 11, Fraction(731, 580)),
        ("cheese.95", 16, Fraction(5274715400, 1513024231)),
        ("mini-hall2", 18, Fraction(46636140391780, 17181744386419)),
        ("parr95.95", 8, Fraction(5212840, 723901)),
    ],
)
def test_known_optima_of_public_files(file: str, posteriors: int, value: Fraction) -> None:
    pomdp = read(Path(os.environ["CLEW_POMDP_FILES"]) / f"{file}.POMDP")
    assert isinstance(pomdp, Pomdp)
    beliefs = close(pomdp)
    assert len({cell.posterior for cell in beliefs.cells}) == posteriors
    assert optimal(beliefs).value == value


@given(st.data())
def test_no_policy_beats_the_optimum(data: st.DataObject) -> None:
    beliefs = close(data.draw(tiny_pomdps()), limit=40)
    assume(beliefs.finite)
    best = optimal(beliefs)
    verify(best)
    earned, _ = returns(filter_machine(beliefs), data.draw(controllers_on(beliefs.pomdp)))
    assert earned <= best.value


@given(tiny_pomdps())
def test_greed_is_misranked_iff_a_potential_helps(pomdp) -> None:
    """Two ways to the same answer: visited cells, and exact returns with φ = V*."""
    beliefs = close(pomdp, limit=25)
    assume(beliefs.finite)
    best = optimal(beliefs)
    ranked = ranking(best)
    answer = potential_sparsity(filter_machine(beliefs))
    assert answer.certain
    assert answer.shaped.value == best.value
    assert answer.greedy.value == ranked.greedy_value
    assert answer.sparse == ranked.misranked


@given(tiny_pomdps())
def test_the_reference_kernel_is_canonical_for_perfect_machines(pomdp) -> None:
    beliefs = close(pomdp, limit=25)
    assume(beliefs.finite)
    product = filter_machine(beliefs)
    known = spaces(product)
    assert reference_kernel(product, known) == canonical_kernel(product, known)
    # all of the discounted time is spent somewhere
    total = sum(occupancy(product, known.triples).values())
    assert total == 1 / (1 - pomdp.discount)


def test_greed_of_a_coarse_machine_uses_the_reference_kernel() -> None:
    product = goal_machine(gallery.make("MysteryCell"))
    assert encodes(product)
    answer = greedy(product)
    # the machine cannot tell the sides apart, so that greed plays both
    assert all(len(actions) == 2 for actions in answer.actions.values())
    gamma = product.pomdp.discount
    assert answer.value == Fraction(1, 2) / (1 - gamma / 2)
