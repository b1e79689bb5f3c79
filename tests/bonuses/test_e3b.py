"""E3B against its equation in float64, and what its features are trained on."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import bonuses
from clew.bonuses import Transitions
from clew.bonuses.boundary import last_steps
from clew.bonuses.methods.e3b import E3B
from clew.validate import BadInput
from tests.bonuses.rollouts import (
    Adam,
    cut,
    flat64,
    fresh,
    grad64,
    learn,
    mlp64,
    observations_of,
    play,
    score,
    wander,
)

TIME, ENVS = 24, 3
SMALL: dict[str, Any] = {"features": 6, "hidden": 12}


def ellipses(bonus: E3B, model: Any, observations: Any, seen: Transitions) -> np.ndarray:
    """The equation, inverting anew at every step."""
    views = (seen.obs, seen.next_obs, seen.following)
    before, after, begun = (mlp64(model.features, flat64(observations, o)) for o in views)
    first, ended = np.asarray(seen.first), np.asarray(seen.ended)
    empty = bonus.ridge * np.eye(bonus.features)
    time, n_envs = first.shape
    scores = np.zeros((time, n_envs))
    for env in range(n_envs):
        total = np.zeros(0)
        for t in range(time):
            if first[t, env]:
                total = empty
                if bonus.count_first:
                    total = total + np.outer(before[t, env], before[t, env])
            phi = after[t, env]
            if bonus.boundary != "final" and ended[t, env]:
                # as an environment that resets itself shows it: the next episode has begun
                phi, total = begun[t, env], total if bonus.boundary == "stale" else empty
            scores[t, env] = phi @ np.linalg.inv(total) @ phi
            total = total + np.outer(phi, phi)
    if bonus.boundary == "zero":
        scores[ended] = 0
    return scores if bonus.max_score is None else np.minimum(scores, bonus.max_score)


@pytest.mark.parametrize(
    ("world", "options"),
    [
        ("TinyReproduce", {}),
        ("TinyReproduce", {"count_first": False, "ridge": 0.1}),
        ("Unlisted", {"ridge": 0.3}),
        ("TinyReproduce", {"layers": 2, "max_score": 0.5}),
        ("TinyReproduce", {"boundary": "stale", "count_first": False}),
        ("TinyReproduce", {"boundary": "fresh", "ridge": 0.3, "max_score": 9.0}),
        ("Unlisted", {"boundary": "fresh", "layers": 2}),
        ("TinyReproduce", {"boundary": "zero"}),
        ("TinyReproduce", {"boundary": "unpaid", "max_score": 9.0}),
    ],
)
@given(data=st.data())
@settings(max_examples=10)
def test_the_score_is_the_equation(world: str, options: Any, data: st.DataObject) -> None:
    """Over episodes of any length, and over two rollouts with the state carried between them."""
    observations, bonus = observations_of(world), E3B(**SMALL, **options)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    frequency = data.draw(st.sampled_from([0.0, 0.03, 0.3, 1.0]), label="resets")
    seen = wander(rng, observations, 2 * TIME, ENVS, frequency)
    at_cut = data.draw(st.booleans(), label="an episode begins with the second rollout")
    seen = seen._replace(
        first=seen.first.at[TIME].set(at_cut), ended=last_steps(seen).at[TIME - 1].set(at_cut)
    )

    state = fresh(bonus, observations, ENVS)
    assert len(state.model.features.layers) == bonus.layers + 1
    expected = ellipses(bonus, state.model, observations, seen)
    one, two = cut(seen, TIME)
    state, head = score(bonus, observations, state, one)
    _, tail = score(bonus, observations, state, two)
    np.testing.assert_allclose(np.concatenate([head, tail]), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("ridge", "size"), [(1.0, 1.0), (0.1, 1.0), (0.01, 30.0), (1e-3, 300.0)])
def test_what_was_seen_often_keeps_its_score(ridge: float, size: float) -> None:
    """Four observations, 3,000 times, with φ of any size: near 1 / how often, never below 0."""
    observations, bonus = observations_of("TinyReproduce"), E3B(**SMALL, ridge=ridge)
    rng = np.random.default_rng(0)
    walk = jnp.asarray(rng.integers(4, size=(3001, 2)), jnp.int32)
    first = (jnp.arange(3000) == 0)[:, None] | (walk[1:] < 0)
    seen = Transitions(walk[:-1], first, walk[:-1], walk[1:], walk[1:] < 0, walk[1:])
    state = fresh(bonus, observations, 2)
    grown = eqx.tree_at(
        lambda s: s.model.features.layers[-1].weight, state, replace_fn=lambda w: w * size
    )
    _, scores = score(bonus, observations, grown, seen)
    expected = ellipses(bonus, grown.model, observations, seen)
    assert (np.asarray(scores) >= 0).all()
    np.testing.assert_allclose(scores, expected, rtol=3e-2, atol=5e-4)


def loss_over(pairs: Any) -> Any:
    """Mean cross-entropy of the action, pair by pair, without any table."""

    def loss(model: Any) -> Any:
        before, action, after = (jnp.asarray(np.array(x)) for x in zip(*pairs, strict=True))

        def of_pair(before: Any, action: Any, after: Any) -> Any:
            logits = model.action(jnp.concatenate([model.features(x) for x in (before, after)]))
            return jnp.log(jnp.exp(logits).sum()) - logits[action]

        return jax.vmap(of_pair)(before, action, after).mean()

    return loss


def episodes_with_a_last_symbol() -> Transitions:
    """Symbol 4 is where every episode ends, and is seen nowhere else."""
    rng = np.random.default_rng(3)
    seen = jax.tree.map(np.array, wander(rng, observations_of("TinyReproduce"), 8, 2, 0.35))
    seen = seen._replace(obs=rng.integers(4, size=(8, 2)).astype(np.int32))
    last = np.concatenate([seen.first[1:], np.ones((1, 2), bool)])
    following = np.concatenate([seen.obs[1:], seen.obs[:1]])
    assert last.sum() > 4
    assert (~last).sum() > 4
    seen = seen._replace(next_obs=np.where(last, 4, following), ended=last, following=following)
    return jax.tree.map(jnp.asarray, seen)


@pytest.mark.parametrize("last_pairs", [True, False])
def test_training_is_on_the_steps_and_nothing_else(last_pairs: bool) -> None:
    """Two rollouts with one batch each are two steps of Adam over the steps' own pairs."""
    observations = observations_of("TinyReproduce")
    bonus = E3B(**SMALL, batch=100, last_pairs=last_pairs)
    seen = episodes_with_a_last_symbol()
    state = fresh(E3B(**SMALL), observations, 2)
    ended = np.asarray(seen.ended)
    steps = [(t, env) for t in range(8) for env in range(2) if last_pairs or not ended[t, env]]
    obs, next_obs = flat64(observations, seen.obs), flat64(observations, seen.next_obs)
    action = np.asarray(seen.action)
    loss = loss_over([(obs[s], int(action[s]), next_obs[s]) for s in steps])

    by_hand = Adam(state.model, bonus.learning_rate)
    for i in range(2):
        by_hand.step(grad64(loss, by_hand.tree))
        state = learn(bonus, observations, state, seen, jax.random.key(i))
        by_hand.agrees(state.model, state.optimiser[0])

    # the comparison can tell: pairs of consecutive `obs` across boundaries have another gradient
    consecutive = [(t, env) for t in range(7) for env in range(2)]
    across = loss_over([(obs[t, e], int(action[t, e]), obs[t + 1, e]) for t, e in consecutive])
    grads, other = (grad64(each, by_hand.tree) for each in (loss, across))
    apart = jax.tree.map(lambda a, b: np.abs(a - b).max() / np.abs(a).max(), grads, other)
    assert max(jax.tree.leaves(apart)) > 0.1


@given(data=st.data())
@settings(max_examples=5)
def test_where_episodes_begin_does_not_matter_to_training(data: st.DataObject) -> None:
    observations, bonus = observations_of("TinyReproduce"), E3B(**SMALL, batch=100)
    seen = episodes_with_a_last_symbol()
    first = np.array(data.draw(st.lists(st.booleans(), min_size=16, max_size=16), label="first"))
    state = fresh(E3B(**SMALL), observations, 2)
    others = [seen, seen._replace(first=jnp.asarray(first.reshape(8, 2)))]
    one, two = (learn(bonus, observations, state, each, jax.random.key(0)) for each in others)
    jax.tree.map(np.testing.assert_array_equal, one, two)


@pytest.mark.parametrize(("batch", "steps"), [(5, 3), (17, 1)])
def test_an_epoch_leaves_out_what_fills_no_batch(batch: int, steps: int) -> None:
    observations, bonus = observations_of("TinyReproduce"), E3B(**SMALL, batch=batch)
    state = fresh(E3B(**SMALL), observations, 2)
    after = learn(bonus, observations, state, episodes_with_a_last_symbol(), jax.random.key(0))
    assert int(after.optimiser[0].count) == steps
    np.testing.assert_array_equal(after.root, state.root)


def test_the_action_is_learned() -> None:
    """On rollouts not seen before: better than before, and than knowing nothing."""
    observations = observations_of("MiniGrid-MemoryS7")
    bonus = E3B(features=16, hidden=32, batch=64, learning_rate=3e-3)
    state = fresh(bonus, observations, 4)
    seen = [play(observations.env, jax.random.key(i), 128, 4) for i in range(9)]
    unseen = tuple(x.reshape(-1) for x in (seen[8].obs, seen[8].action, seen[8].next_obs))
    loss = jax.jit(lambda state: state.model.loss(observations, *unseen))
    before = loss(state)
    for i in range(8):
        state = learn(bonus, observations, state, seen[i], jax.random.key(i))
    after = float(loss(state))
    assert after < before
    assert after < 0.9 * np.log(len(observations.env.action_names))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ridge", 0.0),
        ("ridge", float("nan")),
        ("learning_rate", -1.0),
        ("hidden", 0),
        ("features", 2.5),
        ("features", True),
        ("batch", 0),
        ("count_first", 1),
        ("boundary", "soft"),
        ("last_pairs", "no"),
        ("layers", 0),
        ("max_score", -1.0),
        ("normalise", "yes"),
        ("clip", 0),
    ],
)
def test_options_are_checked(field: str, value: object) -> None:
    with pytest.raises(BadInput, match=f"^{field}={value!r} is not valid"):
        bonuses.make("e3b", **{field: value})
