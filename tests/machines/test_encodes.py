"""Encoding, perfection and structures: answers against returns, and certificates verified."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from clew.machines import PomdpRM, gallery
from clew.machines.certificates.claims import Differs, Encodes, Refuted
from clew.machines.certificates.verify import verify
from clew.machines.deciding.encodes import encodes, reward_mismatches
from clew.machines.deciding.perfect import perfect
from clew.machines.deciding.spaces import spaces
from clew.machines.deciding.structure import admits
from clew.machines.model.belief import close
from tests.machines.known_machines import cue_machine, filter_machine
from tests.machines.playing import controllers_on, machines_on, returns
from tests.machines.tiny import tiny_pomdps


@given(st.data())
def test_a_machine_encodes_iff_returns_agree(data: st.DataObject) -> None:
    product = data.draw(machines_on(data.draw(tiny_pomdps())))
    answer = encodes(product)
    verify(answer)
    if isinstance(answer, Encodes):
        one, two = returns(product, data.draw(controllers_on(product.pomdp)))
        assert one == two
    else:
        assert any(pair.pomdp != pair.machine for pair in (answer.with_action, answer.with_default))


@given(st.data())
def test_rewards_found_for_a_structure_encode(data: st.DataObject) -> None:
    product = data.draw(machines_on(data.draw(tiny_pomdps())))
    answer = admits(product)
    if isinstance(answer, Refuted):
        verify(answer)
        assert not encodes(product)
    else:
        verify(encodes(answer))
        for _ in range(3):
            one, two = returns(answer, data.draw(controllers_on(product.pomdp)))
            assert one == two


@given(st.data())
def test_perfection_is_verified_either_way(data: st.DataObject) -> None:
    product = data.draw(machines_on(data.draw(tiny_pomdps())))
    verify(perfect(product))


@given(tiny_pomdps())
def test_the_belief_filter_is_a_perfect_encoder(pomdp) -> None:
    beliefs = close(pomdp, limit=60)
    assume(beliefs.finite)
    product = filter_machine(beliefs)
    known = spaces(product)
    for answer in (encodes(product, known), perfect(product, known)):
        assert answer
        verify(answer)


@given(tiny_pomdps(), st.integers(0, 1))
def test_the_choice_of_the_default_action_does_not_matter(pomdp, default: int) -> None:
    beliefs = close(pomdp, limit=30)
    assume(beliefs.finite)
    assert encodes(filter_machine(beliefs), default=min(default, len(pomdp.actions) - 1))


def test_it_works_where_posteriors_are_not_finite() -> None:
    for name in ("Tiger", "Shuttle", "4x3"):
        pomdp = gallery.make(name)
        one_state = _pays_nothing(pomdp)
        answer = encodes(one_state)
        assert isinstance(answer, Differs)
        verify(answer)
        verify(perfect(one_state))
    assert isinstance(admits(_pays_nothing(gallery.make("Tiger"))), Refuted)
    assert isinstance(admits(_pays_nothing(gallery.make("Shuttle"))), PomdpRM)


def test_reproduction_step_by_step_is_another_question() -> None:
    """A machine that pays later what the POMDP pays now encodes it all the same."""
    product = cue_machine(gallery.make("Cue"))
    assert encodes(product)
    found = list(reward_mismatches(product))
    assert found
    assert {step.machine_reward for step in found} == {Fraction(1, 2)}


def _pays_nothing(pomdp) -> PomdpRM:
    from clew.machines import Labelling, RewardMachine

    return PomdpRM(pomdp, Labelling.injective(pomdp), RewardMachine(("u",), ({},)))
