"""Several bonuses in one program: each run is scored as by its own alone."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import bonuses
from clew.bonuses import Bonus, OneOf
from clew.learner import Pack
from clew.testing import BONUS_LAWS
from clew.validate import BadInput
from tests.bonuses.rollouts import learn, observations_of, score, wander
from tests.bonuses.test_registry import small

NAMES = ("none", "e3b", "noveld", "counts")
SEVERAL = OneOf.of({name: small(name) for name in NAMES})


@pytest.mark.parametrize("law", BONUS_LAWS, ids=lambda law: law.__name__)
def test_law(law: Callable[[Bonus], None]) -> None:
    law(SEVERAL)


@pytest.mark.parametrize("world", ["TinyReproduce", "Unlisted"])
def test_the_chosen_one_scores_and_learns_as_alone(world: str) -> None:
    observations, key, rng = observations_of(world), jax.random.key(7), np.random.default_rng(0)
    rollouts = [wander(rng, observations, 12, 3, 0.2) for _ in range(3)]
    paid = {}
    for name in NAMES:
        alone, state = small(name), SEVERAL.init(observations, 3, key)
        state = SEVERAL.choose(state, jnp.int32(SEVERAL.number(name)))
        mine = alone.init(observations, 3, key)
        for seen in rollouts:
            state, scores = score(SEVERAL, observations, state, seen)
            mine, wanted = score(alone, observations, mine, seen)
            np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-6)
            paid[name] = np.asarray(scores)
            state = learn(SEVERAL, observations, state, seen, key)
            mine = learn(alone, observations, mine, seen, key)
    assert not paid["none"].any()
    assert all(paid[name].any() for name in NAMES[1:])
    assert len({scores.tobytes() for scores in paid.values()}) == len(NAMES)


def test_steps_are_paid_as_the_chosen_one_has_it() -> None:
    observations, key = observations_of("TinyReproduce"), jax.random.key(7)
    seen = wander(np.random.default_rng(0), observations, 12, 3, 0.2)
    assert SEVERAL.paid(SEVERAL.init(observations, 3, key), seen) is None
    unpaid_too = {name: bonuses.make(name, boundary="unpaid") for name in ("noveld", "e3b")}
    bonus = OneOf.of({"a": small("e3b"), **unpaid_too})
    state = bonus.init(observations, 3, key)
    ended = np.asarray(seen.ended)
    assert 0 < ended.mean() < 1
    for name, unpaid in (("a", np.zeros_like(ended)), ("noveld", ended), ("e3b", ended)):
        chosen = bonus.choose(state, jnp.int32(bonus.number(name)))
        paid = bonus.paid(chosen, seen)
        assert paid is not None
        np.testing.assert_array_equal(paid, ~unpaid)


def test_names_say_which_and_their_order_does_not_matter() -> None:
    backwards = OneOf.of({name: small(name) for name in reversed(NAMES)})
    assert backwards == SEVERAL
    assert hash(backwards) == hash(SEVERAL)
    assert [SEVERAL.number(name) for name in SEVERAL.names] == list(range(len(NAMES)))
    with pytest.raises(BadInput, match=r"unknown bonus of this program 'e3'.*'e3b'"):
        SEVERAL.number("e3")


def test_what_cannot_be_put_together_is_refused() -> None:
    with pytest.raises(BadInput, match="at least one bonus"):
        OneOf()
    with pytest.raises(BadInput, match="a name twice"):
        OneOf(parts=(("a", small("none")), ("a", small("e3b"))))
    with pytest.raises(BadInput, match="all of them at once"):
        OneOf.of({"one": SEVERAL, "two": small("none")})
    with pytest.raises(TypeError, match="clip"):
        OneOf(parts=SEVERAL.parts, clip=3.0)  # pyright: ignore[reportCallIssue]
    with pytest.raises(BadInput, match="which of"):
        Pack.of("TinyReproduce", "dense", "Memoryless", SEVERAL)
    for option in ({"clip": 5.0}, {"normalise": False}):
        with pytest.raises(BadInput, match=f"the same {next(iter(option))}"):
            OneOf.of({"none": bonuses.make("none"), "e3b": bonuses.make("e3b", **option)})


def test_what_is_done_to_scores_is_as_the_parts_say() -> None:
    several = OneOf.of({name: bonuses.make(name, clip=3.0) for name in NAMES})
    assert (several.clip, several.normalise) == (3.0, True)
