"""Two recurrent PPO trainers in JAX, built as two public ones are, to measure ours beside them.

`PureJaxRL` has the structure of PureJaxRL's `ppo_rnn`, `XLand` that of XLand-MiniGrid's baseline
(`training/train_single_task`). They are written anew from what those do, on one trainer, because
there they differ in the network only: environments by vmap, a rollout by a scan over time,
generalised advantages, epochs of minibatches that hold whole sequences of some environments, Adam;
any number of updates is one compiled program. One network serves actor and critic.

What is ours: the world, stepped as our learner steps it, so that it costs the same; settings and
knobs; and no evaluation, no logging, no schedule of the learning rate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.nn.initializers import glorot_normal, lecun_normal, normal, orthogonal
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from clew.envs import Environment, Running, advance, begin, lay_out, priced
from clew.envs.observations import Observations
from clew.learner import Knobs, Settings

VALUE_COEF = 0.5
ACTION_WIDTH = 16
CHANNELS = (32, 64)


class Seen(NamedTuple):
    """What a network is given."""

    obs: Float[Array, "time env *obs"]
    first: Bool[Array, "time env"]
    """Whether an episode begins here."""
    last_action: Int[Array, "time env"]
    last_reward: Float[Array, "time env"]


Memory = Float[Array, "env width"]
Answer = tuple[Memory, Float[Array, "time env action"], Float[Array, "time env"]]


class Network(Protocol):
    """Actor and critic in one."""

    def __call__(self, memory: Memory, seen: Seen) -> Answer:
        """The memory after these steps; logits and values at each."""
        ...


class Dense(eqx.Module):
    """A linear layer with a bias."""

    weight: Float[Array, "from to"]
    bias: Float[Array, " to"]

    @classmethod
    def make(cls, key: PRNGKeyArray, size: int, to: int, init: Callable[..., Array]) -> Dense:
        return cls(init(key, (size, to)), jnp.zeros(to))

    def __call__(self, x: Float[Array, "*batch from"]) -> Float[Array, "*batch to"]:
        return x @ self.weight + self.bias


class Heads(eqx.Module):
    """A hidden layer and an output, for the actor and for the critic."""

    actor: tuple[Dense, Dense]
    critic: tuple[Dense, Dense]

    @classmethod
    def make(cls, key: PRNGKeyArray, width: int, actions: int) -> Heads:
        hidden, policy, value_hidden, value = jax.random.split(key, 4)
        return cls(
            (
                Dense.make(hidden, width, width, orthogonal(2)),
                Dense.make(policy, width, actions, orthogonal(0.01)),
            ),
            (
                Dense.make(value_hidden, width, width, orthogonal(2)),
                Dense.make(value, width, 1, orthogonal(1)),
            ),
        )

    def __call__(self, x: Array, activation: Callable[[Array], Array]) -> tuple[Array, Array]:
        logits, value = (out(activation(hidden(x))) for hidden, out in (self.actor, self.critic))
        return logits, value[..., 0]


class PureJaxRL(eqx.Module):
    """Linear layer, GRU, heads. The GRU is flax's: a product for each gate, of the input and of the
    memory, in every step; the memory is emptied where an episode begins."""

    embed: Dense
    inputs: tuple[Dense, ...]
    recurrent: tuple[Array, Array, Dense]
    heads: Heads

    @classmethod
    def make(cls, env: Environment, width: int, key: PRNGKeyArray) -> PureJaxRL:
        keys = jax.random.split(key, 8)
        size = Observations(env).size
        return cls(
            Dense.make(keys[0], size, width, orthogonal(2**0.5)),
            tuple(Dense.make(k, width, width, lecun_normal()) for k in keys[1:4]),
            (
                orthogonal()(keys[4], (width, width)),
                orthogonal()(keys[5], (width, width)),
                Dense.make(keys[6], width, width, orthogonal()),
            ),
            Heads.make(keys[7], width, len(env.action_names)),
        )

    def __call__(self, memory: Memory, seen: Seen) -> Answer:
        def step(h: Array, x_and_first: tuple[Array, Array]) -> tuple[Array, Array]:
            x, first = x_and_first
            h = jnp.where(first[:, None], 0, h)
            of_reset, of_update, of_new = self.recurrent
            reset = jax.nn.sigmoid(self.inputs[0](x) + h @ of_reset)
            update = jax.nn.sigmoid(self.inputs[1](x) + h @ of_update)
            new = jnp.tanh(self.inputs[2](x) + reset * of_new(h))
            h = (1 - update) * new + update * h
            return h, h

        flat = seen.obs.reshape(*seen.first.shape, -1)
        memory, features = jax.lax.scan(step, memory, (jax.nn.relu(self.embed(flat)), seen.first))
        return memory, *self.heads(features, jax.nn.relu)


class XLand(eqx.Module):
    """Convolutions; the last action, embedded, and the last reward beside them; GRU; heads.

    The GRU reads a single sequence, one product for all gates, and is vmapped over environments;
    it remembers across episodes. There are two convolutions of 2×2, not three: ours sees 3×3 cells.
    """

    convolutions: tuple[tuple[Array, Array], ...]
    actions: Float[Array, "action embedding"]
    inputs: Dense
    recurrent: Float[Array, "width gates"]
    bias: Float[Array, " width"]
    heads: Heads

    @classmethod
    def make(cls, env: Environment, width: int, key: PRNGKeyArray) -> XLand:
        keys = jax.random.split(key, 6)
        rows, columns, cell = env.obs_shape
        sizes = ((cell, CHANNELS[0]), CHANNELS)
        features = CHANNELS[-1] * (rows - len(sizes)) * (columns - len(sizes))
        actions = len(env.action_names)
        return cls(
            tuple(
                (orthogonal(2**0.5)(k, (2, 2, *size)), jnp.zeros(size[1]))
                for k, size in zip(keys, sizes, strict=False)
            ),
            normal(ACTION_WIDTH**-0.5)(keys[2], (actions, ACTION_WIDTH)),
            Dense.make(keys[3], features + ACTION_WIDTH + 1, 3 * width, glorot_normal()),
            orthogonal()(keys[4], (width, 3 * width)),
            jnp.zeros(width),
            Heads.make(keys[5], width, actions),
        )

    def __call__(self, memory: Memory, seen: Seen) -> Answer:
        x = seen.obs.reshape(-1, *seen.obs.shape[2:])
        for kernel, bias in self.convolutions:
            layout = ("NHWC", "HWIO", "NHWC")
            x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=layout)
            x = jax.nn.relu(x + bias)
        x = x.reshape(*seen.first.shape, -1)
        inputs = (x, self.actions[seen.last_action], seen.last_reward[..., None])
        unroll = jax.vmap(self._unroll, in_axes=(0, 1), out_axes=(0, 1))
        memory, features = unroll(memory, jnp.concatenate(inputs, -1))
        return memory, *self.heads(features, jnp.tanh)

    def _unroll(self, memory: Array, inputs: Array) -> tuple[Array, Array]:
        def step(h: Array, x: Array) -> tuple[Array, Array]:
            of_input, of_memory = jnp.split(self.inputs(x), 3), jnp.split(h @ self.recurrent, 3)
            reset = jax.nn.sigmoid(of_input[0] + of_memory[0])
            update = jax.nn.sigmoid(of_input[1] + of_memory[1])
            new = jnp.tanh(of_input[2] + reset * (of_memory[2] + self.bias))
            h = (1 - update) * new + update * h
            return h, h

        return jax.lax.scan(step, memory, inputs)


class Transition(NamedTuple):
    """A rollout: [time, env, …]."""

    seen: Seen
    action: Array
    log_prob: Array
    value: Array
    reward: Array
    done: Array
    success: Array


class State(NamedTuple):
    """What goes from one update to the next."""

    network: Network
    optimiser: optax.OptState
    running: Running
    seen: Seen
    """What the next step is decided on; no axis of time."""
    memory: Memory
    key: PRNGKeyArray


class Report(NamedTuple):
    """An update in numbers."""

    loss: Float[Array, "epoch minibatch"]
    ratio_error: Float[Array, "epoch minibatch"]
    """Largest |ratio − 1|; 0 at the first, but for rounding."""
    episodes: Array
    successes: Array


class Trainer(NamedTuple):
    """A kind of network in a world."""

    kind: type[PureJaxRL] | type[XLand]
    env: Environment
    reward: str
    settings: Settings
    knobs: Knobs

    @property
    def adam(self) -> optax.GradientTransformation:
        clip = optax.clip_by_global_norm(self.settings.max_grad_norm)
        return optax.chain(clip, optax.adam(self.knobs.learning_rate, eps=1e-5))

    def begin(self, seed: int = 0) -> State:
        """Before the first step."""
        s = self.settings
        key, level_key, network_key = jax.random.split(jax.random.key(seed), 3)
        network: Any = self.kind.make(self.env, s.memory_width, network_key)
        running = jax.vmap(partial(begin, self.env))(self._levels(level_key, 1))
        n = s.envs
        seen = Seen(self._arrays(running), jnp.ones(n, bool), jnp.zeros(n, int), jnp.zeros(n))
        memory = jnp.zeros((n, s.memory_width))
        return State(network, self.adam.init(network), running, seen, memory, key)

    def train(self, state: State, updates: int) -> tuple[State, Report]:
        """Rollouts, each with an update after it; to be jitted."""
        return jax.lax.scan(lambda state, _: self._update(state), state, None, updates)

    def _levels(self, key: PRNGKeyArray, steps: int) -> Array:
        keys = jax.random.split(key, self.settings.envs)
        return jax.vmap(lambda key: lay_out(self.env, key, steps))(keys)

    def _arrays(self, running: Running) -> Array:
        return Observations(self.env).arrays(running.obs)

    def _rollout(self, state: State) -> tuple[State, Transition]:
        key, level_key = jax.random.split(state.key)
        levels = self._levels(level_key, self.settings.steps)
        prices = self.env.prices(self.reward)

        def step(state: State, _: None) -> tuple[State, Transition]:
            key, action_key, step_key = jax.random.split(state.key, 3)
            one_step = jax.tree.map(lambda x: x[None], state.seen)
            memory, logits, value = state.network(state.memory, one_step)
            action = jax.random.categorical(action_key, logits[0])
            keys = jax.random.split(step_key, self.settings.envs)
            running, answer = jax.vmap(partial(advance, self.env))(
                levels, state.running, action, keys
            )
            reward = priced(prices, answer.events)
            done = answer.terminated | answer.truncated
            chosen = log_prob_of(logits[0], action)
            told = Transition(state.seen, action, chosen, value[0], reward, done, answer.success)
            seen = Seen(self._arrays(running), done, action, reward)
            return State(state.network, state.optimiser, running, seen, memory, key), told

        # the stock of levels is new, and none of it is used
        running = state.running._replace(used=jnp.zeros_like(state.running.used))
        start = state._replace(running=running, key=key)
        return jax.lax.scan(step, start, None, self.settings.steps)

    def _advantages(self, state: State, played: Transition) -> Float[Array, "time env"]:
        """Generalised; an episode cut short counts as ended."""
        gamma, decay = self.knobs.gamma, self.knobs.gamma * self.settings.gae_lambda
        _, _, last_value = state.network(state.memory, jax.tree.map(lambda x: x[None], state.seen))

        def back(after: tuple[Array, Array], now: Transition) -> tuple[tuple[Array, Array], Array]:
            advantage, next_value = after
            goes_on = 1 - now.done
            error = now.reward + gamma * goes_on * next_value - now.value
            advantage = error + decay * goes_on * advantage
            return (advantage, now.value), advantage

        start = (jnp.zeros_like(last_value[0]), last_value[0])
        return jax.lax.scan(back, start, played, reverse=True)[1]

    def _update(self, state: State) -> tuple[State, Report]:
        s, before = self.settings, state.memory
        state, played = self._rollout(state)
        advantage = self._advantages(state, played)
        sequences = s.chunk * s.chunks_per_batch // s.steps
        key, epochs_key = jax.random.split(state.key)

        def minibatch(
            carry: tuple[Network, optax.OptState], chosen: Int[Array, " sequence"]
        ) -> tuple[tuple[Network, optax.OptState], tuple[Array, Array]]:
            network, optimiser = carry
            batch = jax.tree.map(lambda x: x[:, chosen], (played, advantage))
            objective = partial(self._loss, memory=before[chosen], batch=batch)
            told, grads = jax.value_and_grad(objective, has_aux=True)(network)
            change, optimiser = self.adam.update(grads, optimiser)
            return (eqx.apply_updates(network, change), optimiser), told

        def epoch(carry: tuple[Network, optax.OptState], key: PRNGKeyArray) -> tuple:
            order = jax.random.permutation(key, s.envs).reshape(-1, sequences)
            return jax.lax.scan(minibatch, carry, order)

        (network, optimiser), (loss, ratio_error) = jax.lax.scan(
            epoch, (state.network, state.optimiser), jax.random.split(epochs_key, s.epochs)
        )
        state = state._replace(network=network, optimiser=optimiser, key=key)
        counts = played.done.sum(), (played.done & played.success).sum()
        return state, Report(loss, ratio_error, *counts)

    def _loss(
        self, network: Network, memory: Memory, batch: tuple[Transition, Array]
    ) -> tuple[Array, Array]:
        """PPO's, with the critic's change clipped too; beside it, the largest |ratio − 1|."""
        played, advantage = batch
        clip, target = self.settings.clip, advantage + played.value
        _, logits, value = network(memory, played.seen)
        log_probs = jax.nn.log_softmax(logits)
        ratio = jnp.exp(log_prob_of(logits, played.action) - played.log_prob)
        scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy_loss = -jnp.minimum(ratio * scaled, jnp.clip(ratio, 1 - clip, 1 + clip) * scaled)
        near = played.value + jnp.clip(value - played.value, -clip, clip)
        value_loss = 0.5 * jnp.maximum((value - target) ** 2, (near - target) ** 2)
        entropy = -(jnp.exp(log_probs) * log_probs).sum(-1)
        total = policy_loss + VALUE_COEF * value_loss - self.knobs.entropy * entropy
        return total.mean(), jnp.abs(ratio - 1).max()


def log_prob_of(logits: Array, action: Array) -> Array:
    one_hot = jax.nn.one_hot(action, logits.shape[-1])
    return (jax.nn.log_softmax(logits) * one_hot).sum(-1)
