"""The paper's formal results, computed.

Its abstractions have absorbing states in which a machine is asked for ever: end=absorbing. What
becomes of them where an episode stops is said at the end of this file.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.machines import Pomdp, gallery
from clew.machines.certificates.claims import Dense, Mixed, Sparse
from clew.machines.certificates.verify import verify
from clew.machines.deciding.density import density, distinguishable, size_bound
from clew.machines.deciding.diagnosis import redundancy
from clew.machines.deciding.encodes import encodes, reward_mismatches
from clew.machines.deciding.optimal import Choice, optimal, policy_iteration, ranking
from clew.machines.deciding.pairs import Pairs, decide_pairs
from clew.machines.deciding.perfect import perfect
from clew.machines.deciding.potential import potential_sparsity
from clew.machines.deciding.witness import pooling_machine
from clew.machines.model.belief import Filter, close
from clew.machines.model.ends import ENDS, with_end
from clew.machines.model.pomdp import End
from tests.machines.known_machines import cue_machine, filter_machine, goal_machine


def pairs_of(pomdp: Pomdp, end: End = "absorbing") -> Pairs:
    beliefs = close(with_end(pomdp, end))
    assert beliefs.finite
    return decide_pairs(beliefs)


def told_apart(pairs: Pairs) -> tuple[int, int]:
    """Of the pairs that can be told apart at once: how many are unpoolable, and how many not."""
    beliefs, count = pairs.beliefs, [0, 0]
    for i, cell in enumerate(beliefs.cells):
        for j in range(i):
            same = cell.observation == beliefs.cells[j].observation
            if same and distinguishable(beliefs, i, j):
                count[pairs.poolable(i, j)] += 1
    return count[0], count[1]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("horizon", range(2, 9))
def test_the_coin_needs_ever_more_states(horizon: int, end: End) -> None:
    bound = size_bound(pairs_of(gallery.make("Coin", q="3/4", horizon=horizon), end))
    verify(bound)
    assert bound.states >= horizon - 1


def test_without_a_horizon_the_coin_has_no_finite_filter() -> None:
    for limit in (20, 40, 80):
        beliefs = close(gallery.make("Coin"), limit)
        assert not beliefs.finite
        bound = size_bound(decide_pairs(beliefs))
        verify(bound)
        assert bound.states > limit / 3
    assert "more than" in str(beliefs)


@pytest.mark.parametrize("end", ["stops", "absorbing"])
def test_one_cell_of_mystery_path_is_sparse(end: End) -> None:
    pomdp = with_end(gallery.make("MysteryCell"), end)
    product = goal_machine(pomdp)
    assert len(product.machine.states) == 1
    assert encodes(product)
    assert not list(reward_mismatches(product))
    mixed = perfect(product)
    assert isinstance(mixed, Mixed)
    verify(mixed)
    assert {mixed.first, mixed.second} == {(0, 0, 1), (0, 1, 1)}
    verdict = density(pairs_of(pomdp, end))
    assert isinstance(verdict, Sparse)
    verify(verdict)


def test_on_the_one_state_machine_no_potential_helps_which_certifies_nothing() -> None:
    answer = potential_sparsity(goal_machine(gallery.make("MysteryCell")))
    assert not answer.sparse
    assert not answer.certain


@pytest.mark.parametrize("end", ENDS)
def test_the_cue_abstraction_is_dense(end: End) -> None:
    pairs = pairs_of(gallery.make("Cue"), end)
    assert told_apart(pairs) == (3, 0)
    verdict = density(pairs)
    assert isinstance(verdict, Dense)
    verify(verdict)
    assert size_bound(pairs).states == 3


@given(st.fractions("1/10", "99/100", max_denominator=100))
def test_greed_on_the_cue_machine(gamma: Fraction) -> None:
    product = cue_machine(gallery.make("Cue", gamma=gamma))
    assert encodes(product)
    assert perfect(product)
    assert list(reward_mismatches(product))
    answer = potential_sparsity(product)
    assert answer.certain
    assert answer.greedy.value == Fraction(3, 8) * gamma + Fraction(1, 4) * gamma**2
    assert answer.shaped.value == max(gamma**2, gamma / 2)
    if gamma > Fraction(1, 2):
        assert answer.gap == Fraction(3, 8) * gamma * (2 * gamma - 1)
        assert answer.sparse


@pytest.mark.parametrize(
    ("k", "v", "reward", "unpoolable", "poolable"),
    [
        (2, 2, "dense", 24, 4),
        (2, 2, "sparse", 24, 4),
        (3, 2, "dense", 168, 24),
        (3, 2, "sparse", 240, 24),
    ],
)
def test_the_dictation_lemma_does_not_hold_as_stated(
    k: int, v: int, reward: str, unpoolable: int, poolable: int
) -> None:
    pairs = pairs_of(gallery.make(f"Dictation-{reward}", k=k, v=v))
    assert told_apart(pairs) == (unpoolable, poolable)
    verdict = density(pairs)
    assert isinstance(verdict, Sparse)
    verify(verdict)
    assert encodes(verdict.product)
    assert not perfect(verdict.product)


def test_the_clock_is_what_an_encoder_of_dictation_may_forget() -> None:
    """Token 0 at time 0 with token 0 at time 1, after a 1: pooled explicitly."""
    pairs = pairs_of(gallery.make("Dictation-sparse"))
    first = _cell(pairs.beliefs, (0,))
    later = _cell(pairs.beliefs, (1, 0, 0))
    product = pooling_machine(pairs, first, later)
    assert product is not None
    assert encodes(product)
    mixed = perfect(product)
    assert isinstance(mixed, Mixed)
    assert {len(mixed.first), len(mixed.second)} == {1, 3}


@pytest.mark.parametrize("reward", ["dense", "sparse"])
@pytest.mark.parametrize(("k", "v"), [(2, 2), (3, 2), (2, 3)])
def test_dictation_is_dense_once_positions_are_shown(k: int, v: int, reward: str) -> None:
    pairs = pairs_of(gallery.make(f"Dictation-{reward}", k=k, v=v, positions=True))
    assert told_apart(pairs)[1] == 0
    verdict = density(pairs)
    assert isinstance(verdict, Dense)
    verify(verdict)


@pytest.mark.parametrize("k", [2, 3])
def test_every_encoder_of_dictation_carries_the_sequence(k: int) -> None:
    """The part of the lemma that does hold: after the watch phase, sequences are kept apart."""
    pairs = pairs_of(gallery.make("Dictation-dense", k=k))
    beliefs = pairs.beliefs
    times = beliefs.pomdp.variables["time"]
    played = [i for i, cell in enumerate(beliefs.cells) if times[cell.posterior[0][0]] == k]
    assert len(played) == 2**k
    for i in played:
        assert not any(pairs.poolable(i, j) for j in played if j != i)


@pytest.mark.parametrize("k", [2, 3])
def test_greed_fails_on_purpose_in_sparse_dictation(k: int) -> None:
    for reward, misranked in (("sparse", True), ("dense", False)):
        beliefs = close(gallery.make(f"Dictation-{reward}", k=k))
        best = optimal(beliefs)
        verify(best)
        assert ranking(best).misranked == misranked
        answer = potential_sparsity(filter_machine(beliefs))
        assert answer.certain
        assert answer.sparse == misranked
        assert answer.shaped.value == best.value
        assert answer.greedy.value == ranking(best).greedy_value


@pytest.mark.parametrize("k", [2, 3, 4])
def test_bonuses_are_redundant_on_dictation(k: int) -> None:
    """Dense always; sparse where the paper says, γ > (k−1)/k, and for small k above (k−2)/k.

    To fail with all but two tokens right pays (k−2)/k at once; to play them both pays 1 a step
    later. (The last token costs no time: right or wrong, it ends the episode on the same step.)
    """

    def holds(reward: str, gamma: Fraction) -> bool:
        return redundancy(
            optimal(close(gallery.make(f"Dictation-{reward}", k=k, gamma=gamma)))
        ).holds

    little = Fraction(1, 50)
    assert holds("dense", little)
    assert holds("sparse", Fraction(k - 1, k) + little)
    threshold = Fraction(k - 2, k)
    assert holds("sparse", threshold + little)
    if k > 2:
        assert not holds("sparse", threshold)
        assert not holds("sparse", threshold - little)


def test_bonuses_are_not_redundant_where_actions_decide_what_is_seen() -> None:
    for name in ("Cue", "MysteryCell", "TMaze"):
        assert not redundancy(optimal(close(gallery.make(name)))).holds


@given(st.data())
def test_no_prefix_bonus_changes_what_is_optimal_on_dictation(data: st.DataObject) -> None:
    """Optimal actions with a random bonus on what was seen, paid until the episode is over."""
    reward = data.draw(st.sampled_from(("dense", "sparse")))
    beliefs = close(gallery.make(f"Dictation-{reward}"))
    pomdp, best = beliefs.pomdp, optimal(beliefs)
    bonus = [
        Fraction(0) if s in pomdp.terminal else Fraction(data.draw(st.integers(0, 5)))
        for s in (cell.posterior[0][0] for cell in beliefs.cells)
    ]
    choices = [
        [
            Choice(
                row.mean + bonus[i],
                tuple((j, p) for (_, p), j in zip(row.law, row.after, strict=True)),
            )
            for row in rows
        ]
        for i, rows in enumerate(beliefs.rows)
    ]
    paid = policy_iteration(choices, pomdp.discount)
    for cell in _visited(beliefs, best.actions):
        assert paid.actions[cell] == best.actions[cell]


def test_a_hint_shown_once_must_be_kept() -> None:
    """The greatest fixpoint would call this pair free."""
    pairs = pairs_of(gallery.make("Once"))
    assert told_apart(pairs) == (1, 0)
    assert isinstance(density(pairs), Dense)


@pytest.mark.parametrize("reward", ["dense", "sparse"])
@pytest.mark.parametrize("positions", [False, True])
def test_where_episodes_stop_dictation_supervises_the_last_query_alone(
    reward: str, positions: bool
) -> None:
    """Surviving a query is paid for at the next one, as long as there is one.

    So sequences must be kept apart only if of the tokens still to be asked for they differ in the
    last alone, which was shown first.
    """
    k = 3
    pomdp = gallery.make(f"Dictation-{reward}", k=k, positions=positions)
    pairs = pairs_of(pomdp, "stops")
    beliefs = pairs.beliefs
    sequences, times = pomdp.variables["sequence"], pomdp.variables["time"]
    compared = 0
    for i, j in combinations(range(len(beliefs.cells)), 2):
        here = [s for cell in (i, j) for s, _ in beliefs.cells[cell].posterior]
        if len(here) == 2 and times[here[0]] == times[here[1]] and times[here[0]] >= k:  # type: ignore[operator]
            left = 2 * k - times[here[0]]  # type: ignore[operator]
            one, two = (str(sequences[s])[:left] for s in here)
            assert pairs.poolable(i, j) == (one[1:] != two[1:] or one[0] == two[0])
            compared += 1
    assert compared > 30
    verdict = density(pairs)
    assert isinstance(verdict, Sparse)
    verify(verdict)
    assert redundancy(optimal(beliefs)).holds


def _cell(beliefs: Filter, history: tuple[int, ...]) -> int:
    return next(i for i in range(len(beliefs.cells)) if beliefs.history(i) == history)


def _visited(beliefs: Filter, actions: tuple[tuple[int, ...], ...]) -> set[int]:
    found = {cell for cell, _ in beliefs.start}
    frontier = list(found)
    while frontier:
        cell = frontier.pop()
        new = {j for a in actions[cell] for j in beliefs.rows[cell][a].after} - found
        found |= new
        frontier += new
    return found
