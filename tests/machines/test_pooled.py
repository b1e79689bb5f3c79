"""Pairs that nothing forces apart, pooled one by one by a machine that encodes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import assume, given, settings

from clew.machines import Pomdp, classify, gallery
from clew.machines.certificates.verify import Rejected, verify
from clew.machines.deciding.pairs import Pairs, decide_pairs
from clew.machines.deciding.pooled import pooled
from clew.machines.deciding.witness import fork
from clew.machines.model.belief import close
from clew.machines.model.ends import with_end
from clew.machines.model.pomdp import End
from tests.machines.tiny import tiny_pomdps


def poolable(pairs: Pairs) -> list[tuple[int, int]]:
    cells = pairs.beliefs.cells
    return [
        (i, j)
        for i, j in combinations(range(len(cells)), 2)
        if cells[i].observation == cells[j].observation and pairs.poolable(i, j)
    ]


@given(tiny_pomdps())
@settings(max_examples=150, deadline=None)
def test_every_poolable_pair_is_pooled_by_some_machine(pomdp: Pomdp) -> None:
    """All of them, where the histories of one do not all begin those of the other."""
    beliefs = close(pomdp, 12)
    assume(beliefs.finite)
    pairs = decide_pairs(beliefs)
    some = poolable(pairs)
    assume(some)
    for first, second in some:
        proof = pooled(pairs, first, second)
        if proof is not None:
            verify(proof)
        else:
            assert fork(beliefs, first, second) is None


@pytest.mark.parametrize(
    ("name", "end", "count"),
    [
        ("Dictation-dense", "absorbing", 6),
        ("Dictation-dense", "stops", 26),
        ("TMaze", "stops", 12),
        ("MysteryCell", "stops", 1),
    ],
)
def test_in_the_gallery(name: str, end: End, count: int) -> None:
    pairs = decide_pairs(close(with_end(gallery.make(name), end)))
    some = poolable(pairs)
    assert len(some) == count
    for first, second in some:
        proof = pooled(pairs, first, second)
        assert proof is not None
        verify(proof)
        for change, why in (
            ({"second": proof.first}, "say the same"),
            ({"second": proof.second[:-2]}, "different|say the same"),
        ):
            if len(proof.second) > 2:
                with pytest.raises(Rejected, match=why):
                    verify(replace(proof, **change))


def test_the_machine_of_the_verdict_pools_what_the_profile_says() -> None:
    answer = classify(gallery.make("CheeseMaze"))
    assert answer.profile is not None
    # one state: whatever looks the same is pooled
    assert answer.profile.total.pooled == answer.profile.total.pairs
    answer = classify(gallery.make("TMaze"))
    assert answer.profile is not None
    total = answer.profile.total
    assert 0 < total.pooled <= total.pairs - total.unpoolable
    assert answer.profile.variables["goal"].pooled == 0
