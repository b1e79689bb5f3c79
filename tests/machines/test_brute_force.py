"""The verdict against a brute force over all small machines."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from clew.machines import Pomdp
from clew.machines.certificates.claims import Dense, Sparse, Undecided
from clew.machines.certificates.verify import verify
from clew.machines.deciding.density import density, distinguishable
from clew.machines.deciding.encodes import encodes
from clew.machines.deciding.pairs import decide_pairs
from clew.machines.deciding.perfect import perfect
from clew.machines.model.belief import Filter, close
from tests.machines.tiny import has_rewards, mixes, structures, tiny_pomdps

POSTERIORS = 30


def compare(pomdp: Pomdp, states: int, tries: int) -> str | None:
    """Answer, have it verified, and let the brute force look for a contradiction."""
    beliefs = close(pomdp, POSTERIORS)
    if not beliefs.finite:
        return None
    verdict = density(decide_pairs(beliefs))
    found = forgetful_encoder(beliefs, states, tries)
    if isinstance(verdict, Sparse):
        assert encodes(verdict.product)
        assert not perfect(verdict.product)
    else:
        # undecided: only a history and one that it begins could be pooled, in some longer loop
        assert not found
    if isinstance(verdict, Undecided):
        return "Undecided"
    verify(verdict)
    if isinstance(verdict, Dense) and not interesting(beliefs):
        return "nothing to forget"
    return type(verdict).__name__


def forgetful_encoder(beliefs: Filter, states: int, tries: int) -> bool:
    """Whether some machine of so many states encodes and is not perfect."""
    return any(
        mixes(beliefs, sites) and has_rewards(beliefs, structure, sites)
        for structure, sites in islice(structures(beliefs, states), tries)
    )


def interesting(beliefs: Filter) -> bool:
    """Whether there are cells with one observation that can be told apart."""
    cells = beliefs.cells
    return any(
        cells[i].observation == cells[j].observation and distinguishable(beliefs, i, j)
        for i in range(len(cells))
        for j in range(i)
    )


def run(
    examples: int,
    states: int,
    tries: int,
    number: int,
    pomdps: st.SearchStrategy[Pomdp] | None = None,
) -> Counter[str | None]:
    seen: Counter[str | None] = Counter()

    @seed(number)
    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        database=None,
    )
    @given(tiny_pomdps() if pomdps is None else pomdps)
    def each(pomdp: Pomdp) -> None:
        seen[compare(pomdp, states, tries)] += 1

    each()
    return seen


def test_no_small_machine_contradicts_the_verdict() -> None:
    seen = run(examples=500, states=2, tries=150, number=1)
    assert seen["Sparse"] >= 40
    assert seen["Dense"] >= 20
    assert not seen["Undecided"]


@pytest.mark.slow
def test_no_machine_of_three_states_contradicts_the_verdict() -> None:
    seen = run(examples=2000, states=3, tries=1500, number=2)
    assert sum(count for verdict, count in seen.items() if verdict) >= 500
    assert seen["Sparse"] >= 100
    assert seen["Dense"] >= 100
    assert not seen["Undecided"]
