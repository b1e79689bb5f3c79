"""TinyReproduce against a slow Python of the same rules, and its instruments."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew import envs
from clew.envs.worlds.tiny_reproduce.world import TinyReproduce


def make(**options: object) -> TinyReproduce:
    env = envs.make("TinyReproduce", **options)
    assert isinstance(env, TinyReproduce)
    return env


def slow_episode(
    sequence: list[int], actions: list[int], v: int, order: str
) -> list[dict[str, Any]]:
    """The rules in plain Python, one dictionary for each step."""
    k = len(sequence)
    answer = sequence[::-1] if order == "reverse" else sequence

    def watch(token: int) -> list[float]:
        return [1.0, 0.0] + [float(token == other) for other in range(v)]

    play = [0.0, 1.0] + [0.0] * v
    moments: list[dict[str, Any]] = [
        {"obs": watch(sequence[0]), "phase": "watch", "rm_state": tuple(sequence[:1])}
    ]
    played = 0
    for t, action in enumerate(actions, start=1):
        if t < k:
            shown = sequence[: t + 1]
            moments.append({"obs": watch(shown[-1]), "phase": "watch", "rm_state": tuple(shown)})
            continue
        right = action == answer[played]
        played += right
        ended = not right or played == k
        moments.append(
            {
                "obs": play,
                "phase": "play",
                "rm_state": tuple(answer[played:]),
                "correct": right,
                "n_correct": played,
                "terminated": ended,
                "truncated": t == 2 * k - 1,
                "success": played == k,
                "dense": Fraction(int(right), k),
                "sparse": Fraction(played, k) if ended else Fraction(0),
            }
        )
        if ended:
            break
    return moments


@given(data=st.data())
def test_against_the_slow_story(data: st.DataObject) -> None:
    k, v = data.draw(st.sampled_from([(1, 2), (2, 2), (3, 4), (5, 3)]))
    order = data.draw(st.sampled_from(["reverse", "forward"]))
    env = make(k=k, v=v, order=order)
    sequence = data.draw(st.lists(st.integers(0, v - 1), min_size=k, max_size=k))
    answer = sequence[::-1] if order == "reverse" else sequence
    idle = data.draw(st.lists(st.integers(0, v - 1), min_size=k - 1, max_size=k - 1))
    slips = data.draw(st.lists(st.sampled_from([0, 0, 0, 0, 1]), min_size=k, max_size=k))
    actions = idle + [(a + slip) % v for a, slip in zip(answer, slips, strict=True)]

    state, obs = env.start(jnp.asarray(sequence, jnp.int32))
    moments = slow_episode(sequence, actions, v, order)
    totals = {"dense": Fraction(0), "sparse": Fraction(0)}
    for t, moment in enumerate(moments):
        if t:
            state, step = env.step(state, jnp.int32(actions[t - 1]), jax.random.key(0))
            obs = step.obs
            assert bool(step.terminated) == moment.get("terminated", False)
            assert bool(step.truncated) == moment.get("truncated", False)
            assert bool(step.success) == moment.get("success", False)
            for name, total in totals.items():
                reward = float(envs.priced(env.prices(name), step.events))
                assert abs(reward - moment.get(name, 0)) < 1e-6
                totals[name] = total + moment.get(name, 0)
        np.testing.assert_array_equal(np.asarray(env.decode(obs)), moment["obs"])
        info = env.explain(state)
        assert info["phase"] == moment["phase"]
        assert info["rm_state"] == moment["rm_state"]
        assert info["n_correct"] == moment.get("n_correct", 0)
        assert info["is_correct"] == moment.get("correct", False)
        assert info["success"] == info["is_success"] == moment.get("success", False)
    assert totals["dense"] == totals["sparse"]


def test_five_observations_and_the_random_return() -> None:
    env = make()
    assert env.alphabet.shape == (5, 6)
    played = envs.random_episodes(env, jax.random.key(0), 40_000)
    returns = np.asarray(played.events @ env.prices("dense"))
    # each token is right with probability 1/4: (1/4 + 1/16 + …)/10
    exact = sum(0.25**n for n in range(1, 11)) / 10
    assert round(exact, 5) == 0.03333
    assert abs(returns.mean() - exact) < 4 * returns.std() / len(returns) ** 0.5
    np.testing.assert_allclose(returns, np.asarray(played.events @ env.prices("sparse")), atol=1e-6)
