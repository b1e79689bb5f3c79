"""Train several readings of E3B side by side, and add them to a folder of results.

Options of a bonus are compiled in, so each reading would be a program of its own: minutes of
compilation, and packs too small to fill a GPU. Here they are numbers in the bonus's state, and all
arms of an architecture are one pack. An arm is a reward, `none` or `e3b`, a number of seeds, and
options of E3B, or knobs:

    python benchmarks/readings.py MysteryPath-Grid RetNet --environment-options show_goal=true \\
        --arms "aligned none 3" "sparse e3b 3 layers=2" "sparse e3b 3 boundary=fresh" --out results

`tests/bonuses/test_readings.py` compares it with E3B's own options.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float

from clew import envs
from clew.bonuses import Bonus, Transitions
from clew.bonuses.boundary import BOUNDARIES, last_steps, scored_obs
from clew.bonuses.ellipsoid import rank_one_update
from clew.bonuses.methods.e3b import E3B, E3BState
from clew.envs.observations import Observations
from clew.layers import Mlp
from clew.learner import Knobs, Pack, Program, Settings, TrainState
from reproduce import STUDY, Arm, add, options, record, show, with_shared

KNOBS = [field.name for field in dataclasses.fields(Knobs)]
OFF = {"none": {"bonus_coef": 0.0}, "e3b": {}}


class Reading(NamedTuple):
    """The options of E3B that runs differ in, as numbers."""

    ridge: Array
    count_first: Array
    layers: Array
    max_score: Array
    boundary: Array
    last_pairs: Array

    @classmethod
    def of(cls, bonus: E3B) -> Reading:
        """One run's."""
        return cls(
            ridge=jnp.float32(bonus.ridge),
            count_first=jnp.bool_(bonus.count_first),
            layers=jnp.int32(bonus.layers),
            max_score=jnp.float32(np.inf if bonus.max_score is None else bonus.max_score),
            boundary=jnp.int32(BOUNDARIES.index(bonus.boundary)),
            last_pairs=jnp.bool_(bonus.last_pairs),
        )


class ReadingsState(NamedTuple):
    """E3B's state, and how this run reads it."""

    e3b: E3BState
    reading: Reading


@dataclasses.dataclass(frozen=True)
class Readings(Bonus[ReadingsState]):
    """E3B with one or two hidden layers, and everything else as the state says."""

    def init(self, observations: Observations, envs: int, key: Array) -> ReadingsState:
        """With the default reading."""
        return ReadingsState(E3B(layers=2).init(observations, envs, key), Reading.of(E3B()))

    def score(
        self, observations: Observations, state: ReadingsState, transitions: Transitions
    ) -> tuple[ReadingsState, Float[Array, "time env"]]:
        """As in E3B; every choice is made by `where`."""
        e3b, reading = state
        network = partial(features, e3b.model.features, reading.layers)
        before, final, begun = (
            observations.through(network, obs, linear_first=True)
            for obs in (transitions.obs, transitions.next_obs, scored_obs("stale", transitions))
        )
        stale, fresh, zero, unpaid = (reading.boundary == i for i in range(1, len(BOUNDARIES)))
        after = jnp.where(stale | fresh | unpaid, begun, final)

        def one(root: Array, before: Array, first: Array, after: Array) -> tuple[Array, Array]:
            empty = jnp.eye(len(root)) / jnp.sqrt(reading.ridge)
            start = jnp.where(reading.count_first, rank_one_update(empty, before)[0], empty)
            return rank_one_update(jnp.where(first, start, root), after)

        def step(root: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            return jax.vmap(one)(root, *now)

        root, scores = jax.lax.scan(step, e3b.root, (before, transitions.first, after))
        ended = last_steps(transitions)
        scores = jnp.where(ended & (fresh | unpaid), (after**2).sum(-1) / reading.ridge, scores)
        scores = jnp.minimum(jnp.where(ended & zero, 0, scores), reading.max_score)
        return ReadingsState(e3b._replace(root=root), reading), scores

    def paid(self, state: ReadingsState, transitions: Transitions) -> Bool[Array, "time env"]:
        """All steps, or those that end no episode."""
        unpaid = state.reading.boundary == BOUNDARIES.index("unpaid")
        return ~(unpaid & last_steps(transitions))

    def learn(
        self,
        observations: Observations,
        state: ReadingsState,
        transitions: Transitions,
        key: Array,
    ) -> ReadingsState:
        """As in E3B; steps that end episodes have the weight that the reading gives them."""
        (model, optimiser, root), reading = state
        weights = jnp.float32(reading.last_pairs | ~last_steps(transitions))
        steps = (transitions.obs, transitions.action, transitions.next_obs, weights)
        pairs = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), steps)
        n = transitions.action.size
        batch = min(E3B.batch, n)
        order = jax.random.permutation(key, n)[: n - n % batch].reshape(-1, batch)
        adam = optax.adam(E3B.learning_rate)

        def minibatch(carry: tuple, chosen: Array) -> tuple[tuple, None]:
            model, optimiser = carry
            obs, action, next_obs, weight = jax.tree.map(lambda leaf: leaf[chosen], pairs)

            def loss(model: eqx.Module) -> Array:
                network = partial(features, model.features, reading.layers)
                both = [
                    observations.through(network, each, linear_first=True)
                    for each in (obs, next_obs)
                ]
                logits = model.action(jnp.concatenate(both, -1))
                errors = optax.softmax_cross_entropy_with_integer_labels(logits, action)
                return (errors * weight).sum() / jnp.maximum(weight.sum(), 1)

            updates, optimiser = adam.update(jax.grad(loss)(model), optimiser)
            return (eqx.apply_updates(model, updates), optimiser), None

        (model, optimiser), _ = jax.lax.scan(minibatch, (model, optimiser), order)
        return ReadingsState(E3BState(model, optimiser, root), reading)


def features(network: Mlp, layers: Array, x: Array) -> Array:
    """φ, with the second of its two hidden layers or past it."""
    first, second, last = network.layers
    hidden = jax.nn.relu(first(x))
    return last(jnp.where(layers == 2, jax.nn.relu(second(hidden)), hidden))


def begin(pack: Pack, bonuses: Sequence[E3B]) -> TrainState:
    """A pack of `Readings` before its first step, each run with its own."""
    state = pack.begin()
    readings = jax.tree.map(lambda *each: jnp.stack(each), *map(Reading.of, bonuses))
    bonus = state.bonus._replace(state=state.bonus.state._replace(reading=readings))
    return state._replace(bonus=bonus)


def parse(text: str) -> list[Arm]:
    """`sparse e3b 3 layers=2`: one arm a seed."""
    reward, bonus, seeds, *chosen = text.split()
    knobs = [each for each in chosen if each.partition("=")[0] in KNOBS]
    of_e3b = [each for each in chosen if each not in knobs]
    each = (reward, bonus, " ".join(of_e3b), " ".join(knobs))
    return [Arm(*each, seed) for seed in range(int(seeds))]


def main() -> None:
    description = argparse.RawDescriptionHelpFormatter
    args_of = argparse.ArgumentParser(description=__doc__, formatter_class=description)
    args_of.add_argument("environment", choices=STUDY)
    args_of.add_argument("architecture")
    args_of.add_argument("--arms", nargs="+", required=True)
    args = with_shared(args_of).parse_args()
    began = time.perf_counter()
    block = STUDY[args.environment]
    program = Program.of(
        envs.make(args.environment, **options(args.environment_options)),
        args.architecture,
        Readings(),
        Settings(**{**block.get("settings", {}), **options(args.settings)}),
    )
    arms = [arm for text in args.arms for arm in parse(text)]
    pack = Pack.join(
        [
            Pack.single(
                program,
                arm.seed,
                arm.reward,
                Knobs(**{**block.get("knobs", {}), **options(arm.knobs.split()), **OFF[arm.bonus]}),
            )
            for arm in arms
        ]
    )
    state = begin(pack, [E3B(**options(arm.bonus_options.split())) for arm in arms])
    rows = record(args, args.architecture, pack, arms, state)
    show(rows)
    if args.out:
        add(args.out, rows)
        (args.out / "unfinished.json").unlink()
    print(f"{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
