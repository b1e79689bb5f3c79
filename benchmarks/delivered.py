"""What a bonus pays over a whole training, without the training: a random policy plays.

For example `python benchmarks/delivered.py TinyReproduce noveld --rollouts 1220`. The bonus learns
as it would; only the agent does not. Prints the score and what the running deviation makes of it,
a step, averaged over all rollouts: the two candidates for the paper's column "raw b".
"""

from __future__ import annotations

import argparse
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from clew import bonuses, envs
from clew.bonuses import Bonus, Delivery, Seen
from clew.envs.sight import Sight

ENVS, STEPS = 16, 512


def rollout(env: envs.Environment, running: Any, first: jax.Array, key: jax.Array) -> Any:
    """Play at random: where the environments stand now, and what was seen."""
    level_key, action_key, step_key = jax.random.split(key, 3)
    draw = jax.vmap(lambda key: envs.lay_out(env, key, STEPS))
    levels = draw(jax.random.split(level_key, ENVS))
    if running is None:
        running = jax.vmap(lambda some: envs.begin(env, some))(levels)
    actions = jax.random.randint(action_key, (STEPS, ENVS), 0, len(env.action_names))
    keys = jax.random.split(step_key, (STEPS, ENVS))

    def step(carry: Any, now: Any) -> Any:
        running, first = carry
        after, result = jax.vmap(lambda *each: envs.advance(env, *each))(levels, running, *now)
        seen = Seen(running.obs, first, now[0], result.obs)
        return (after, result.terminated | result.truncated), seen

    start = (running._replace(used=jnp.zeros_like(running.used)), first)
    return jax.lax.scan(step, start, (actions, keys))


def paid(env: envs.Environment, bonus: Bonus, rollouts: int, seed: int) -> np.ndarray:
    """Score and normalised score, a step, of every rollout."""
    sight, key = Sight(env), jax.random.key(seed)
    delivery = jax.jit(lambda key: Delivery.init(bonus, sight, ENVS, key))(key)
    running, first = jax.jit(lambda key: rollout(env, None, jnp.ones(ENVS, bool), key)[0])(key)

    @jax.jit
    def once(delivery: Delivery, running: Any, first: jax.Array, key: jax.Array) -> Any:
        carry, seen = rollout(env, running, first, key)
        delivery, score, normalised = delivery.pay(bonus, sight, seen, key)
        return delivery, carry, jnp.stack((score.mean(), normalised.mean()))

    found = []
    for i in range(rollouts):
        delivery, (running, first), now = once(delivery, running, first, jax.random.fold_in(key, i))
        found.append(now)
    return np.asarray(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment")
    parser.add_argument("bonus")
    parser.add_argument("--max-steps", type=int, help="of an episode, to see shorter ones")
    parser.add_argument("--rollouts", type=int, default=2441, help="20 M steps unless told")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    options = {} if args.max_steps is None else {"max_steps": args.max_steps}
    env = envs.make(args.environment, **options)
    found = paid(env, bonuses.make(args.bonus), args.rollouts, args.seed)
    for name, rows in (("first rollout", found[:1]), (f"all {len(found)}", found)):
        score, normalised = rows.mean(0)
        print(
            f"{args.environment} {args.bonus} {name}: score {score:.4f} normalised {normalised:.4f}"
        )


if __name__ == "__main__":
    main()
