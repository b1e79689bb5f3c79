"""Once an episode is over nothing is paid: verdicts against exact returns of whole episodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clew.machines import Labelling, Pomdp, PomdpRM, RewardMachine, classify, gallery
from clew.machines.certificates.claims import Dense, Encodes, Refuted, Sparse
from clew.machines.certificates.verify import Rejected, verify
from clew.machines.deciding.density import density
from clew.machines.deciding.encodes import encodes
from clew.machines.deciding.optimal import optimal
from clew.machines.deciding.pairs import decide_pairs
from clew.machines.deciding.perfect import perfect
from clew.machines.deciding.pooled import pooled
from clew.machines.deciding.potential import potential_sparsity
from clew.machines.deciding.spaces import spaces
from clew.machines.deciding.structure import admits
from clew.machines.deciding.witness import fork
from clew.machines.model.belief import close
from clew.machines.model.ends import ENDS, with_end
from clew.machines.model.reward_machine import Edge
from clew.validate import BadInput
from tests.machines.known_machines import filter_machine
from tests.machines.playing import controllers_on, machines_on, returns
from tests.machines.test_brute_force import run
from tests.machines.tiny import tiny_pomdps

ENDING = tiny_pomdps(ends=True)


@given(st.data())
def test_a_machine_encodes_iff_returns_of_episodes_agree(data: st.DataObject) -> None:
    pomdp = with_end(data.draw(ENDING), data.draw(st.sampled_from(ENDS)))
    product = data.draw(machines_on(pomdp))
    answer = encodes(product)
    verify(answer)
    if isinstance(answer, Encodes):
        one, two = returns(product, data.draw(controllers_on(pomdp)))
        assert one == two
    structure = admits(product)
    if isinstance(structure, Refuted):
        verify(structure)
        assert not answer
    else:
        verify(encodes(structure))
        for _ in range(3):
            one, two = returns(structure, data.draw(controllers_on(pomdp)))
            assert one == two


@given(st.data())
def test_two_policies_really_earn_what_the_proof_says(data: st.DataObject) -> None:
    """A machine that pays one everywhere; the proof's policies as controllers that count."""
    pomdp = data.draw(ENDING)
    labelling = Labelling.injective(pomdp)
    one = {label: Edge(0, Fraction(1)) for label in labelling.table.values()}
    product = PomdpRM(pomdp, labelling, RewardMachine(("u",), (one,)))
    proof = encodes(product)
    assume(not proof)
    seen, n = range(len(pomdp.observations)), len(proof.history) // 2  # type: ignore[union-attr]
    for last, claimed in (
        (proof.action, proof.with_action),  # type: ignore[union-attr]
        (proof.default, proof.with_default),  # type: ignore[union-attr]
    ):
        # memory: how much of the history came true; n + 1 once something else was seen
        plan = [*proof.history[1::2], last]  # type: ignore[union-attr]
        right = {(i, o): o == proof.history[2 * i] for i in range(n + 1) for o in seen}  # type: ignore[union-attr]
        controller = {(n + 1, o): (proof.default, n + 1) for o in seen}  # type: ignore[union-attr]
        for (i, o), true in right.items():
            controller[i, o] = (plan[i], i + 1) if true else (proof.default, n + 1)  # type: ignore[union-attr]
        assert returns(product, controller) == tuple(claimed)


@given(st.data())
def test_the_belief_filter_is_a_perfect_encoder(data: st.DataObject) -> None:
    pomdp = data.draw(ENDING)
    beliefs = close(pomdp, limit=40)
    assume(beliefs.finite)
    product = filter_machine(beliefs)
    known = spaces(product)
    for answer in (encodes(product, known), perfect(product, known)):
        assert answer
        verify(answer)
    best = optimal(beliefs)
    verify(best)
    potential = potential_sparsity(product, known)
    assert potential.shaped.value == best.value
    earned, same = returns(product, data.draw(controllers_on(pomdp)))
    assert earned == same <= best.value


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_every_poolable_pair_is_pooled_and_earns_the_same(data: st.DataObject) -> None:
    pomdp = data.draw(ENDING)
    beliefs = close(pomdp, 10)
    assume(beliefs.finite)
    pairs = decide_pairs(beliefs)
    some = [
        (i, j)
        for i, j in combinations(range(len(beliefs.cells)), 2)
        if beliefs.cells[i].observation == beliefs.cells[j].observation and pairs.poolable(i, j)
    ]
    assume(some)
    for first, second in some[:6]:
        proof = pooled(pairs, first, second)
        if proof is None:
            assert fork(beliefs, first, second) is None
            continue
        verify(proof)
        one, two = returns(proof.encodes.product, data.draw(controllers_on(pomdp)))
        assert one == two


def test_no_small_machine_contradicts_the_verdict() -> None:
    seen: Counter[str | None] = run(500, 2, 150, 3, ENDING)
    assert seen["Sparse"] >= 40
    assert seen["Dense"] >= 20


@pytest.mark.slow
def test_no_machine_of_three_states_contradicts_the_verdict() -> None:
    seen = run(2000, 3, 1500, 4, ENDING)
    assert seen["Sparse"] >= 100
    assert seen["Dense"] >= 40
    assert seen["Undecided"] <= 40


def survival(gamma: str = "9/10") -> Pomdp:
    """Guess a hidden side twice; a wrong guess ends the episode, which pays nothing."""
    return Pomdp.build(
        states=[f"{place} {z}" for place in ("first", "second") for z in "LR"] + ["end"],
        actions=["L", "R"],
        observations=["o"],
        p=lambda s, a: f"second {a}" if s == f"first {a}" else "end",
        omega=lambda s: "o",
        r=lambda s, a, after: int(s == f"first {a}"),
        gamma=gamma,
        mu={"first L": "1/2", "first R": "1/2"},
        terminal=["end"],
        variables={"side": lambda s: s.split()[-1]},
        name="guess and survive",
    )


def test_survival_can_be_paid_for_late() -> None:
    """Nothing that is seen tells right from wrong, but going on does: it is paid one step later."""
    pomdp = survival()
    stops = classify(pomdp)
    assert isinstance(stops.verdict, Sparse | Dense)
    machine = stops.encoder
    assert machine is not None
    for controller in ({(0, 0): (0, 0)}, {(0, 0): (1, 0)}, {(0, 0): (0, 1), (1, 0): (1, 1)}):
        one, two = returns(machine, controller)
        assert one == two


def test_false_certificates_about_the_end_are_rejected() -> None:
    """What holds while machines may pay after the end does not hold once they may not."""
    for name in ("Dictation-dense", "Dictation-sparse"):
        written = with_end(gallery.make(name, positions=True), "absorbing")
        proof = density(decide_pairs(close(written)))
        assert isinstance(proof, Dense)
        verify(proof)
        stops = replace(proof.distinctions, pomdp=with_end(written, "stops"))
        with pytest.raises(Rejected):
            verify(Dense(stops))


def test_a_machine_that_pays_after_the_end_does_not_encode() -> None:
    """One state, paid 1/γ for the observation that comes after the episode is over."""
    shown = with_end(gallery.make("MysteryCell"), "absorbing")
    labelling = Labelling.of(shown, lambda o, a, o2: ["late"] if (o, o2) == ("oG", "o⊥") else [])
    machine = RewardMachine.build([("u", ["late"], "u", 1 / shown.discount)])
    late = PomdpRM(shown, labelling, machine)
    proof = encodes(late)
    assert isinstance(proof, Encodes)
    verify(proof)
    stops = replace(late, pomdp=with_end(shown, "stops"))
    assert not encodes(stops)
    with pytest.raises(Rejected):
        verify(replace(proof, product=stops))


def test_discount_one_needs_episodes_that_end() -> None:
    answer = classify(survival("1"))
    assert answer.best is not None
    assert answer.best.value == Fraction(1, 2)
    for name in ("MysteryCell", "Cue", "Tiger"):
        with pytest.raises(BadInput, match=r"from '.*' one can go on for ever"):
            gallery.make(name, gamma=1)
    with pytest.raises(BadInput, match="discount=1 needs end=stops"):
        with_end(survival("1"), "hidden")


def test_conventions_have_names() -> None:
    with pytest.raises(BadInput, match="'stops', 'absorbing' or 'hidden'"):
        with_end(survival(), "seen")  # type: ignore[arg-type]
    hidden = with_end(gallery.make("MysteryCell"), "hidden")
    over = next(iter(hidden.terminal))
    assert {b.observation for row in hidden.steps[over] for b in row} == {
        hidden.observations.index("oG")
    }
