"""The interface of every world."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping, Set
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, Shaped

from clew.envs.enumeration import Enumeration
from clew.envs.knowledge import Knowledge
from clew.envs.latent import Latent
from clew.envs.tiles import Tiles
from clew.validate import BadInput, finite_number, known_names, listing

L = TypeVar("L")
S = TypeVar("S")

Rewards = dict[str, Callable[[Any], Mapping[str, float]]]
PlainInfo = dict[str, Any]
"""What instruments read off a state, in plain Python."""

# A table larger than this is not worth keeping: observations are then drawn one by one.
ALPHABET_BYTES = 64 * 2**20


class Step(NamedTuple):
    """What the world answers to an action. There is no reward in it: prices make rewards."""

    obs: Shaped[Array, "*obs"]
    """As handed out; `Environment.decode` turns it into the array an agent is fed."""
    events: Float[Array, " event"]
    """How often each of `event_names` happened in this step: 0 or 1 in most worlds."""
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    success: Bool[Array, ""]
    """Whether the episode has succeeded. Prices have no influence on it."""


@dataclasses.dataclass(frozen=True)
class Environment(abc.ABC, Generic[L, S]):
    """A world: options in the fields, everything else a pure function of its arguments.

    An episode is decided by its *level* (what the original draws at reset). `level(key)` draws
    one and `start(level)` begins an episode in it; they are apart so that levels can be drawn
    in bulk ahead of time, or laid out by hand. All methods that take arrays can be jitted and
    vmapped; an environment is hashable and can be a static argument.
    """

    hosted: ClassVar[bool] = False
    """Whether it steps on the host, and not in a compiled program."""
    event_names: ClassVar[tuple[str, ...]]
    obs_dtype: ClassVar[np.dtype]
    """Dtype of a decoded observation, as in the original package."""
    obs_high: ClassVar[int]
    """Largest entry of a decoded observation (the least is 0): divide by it to get [0, 1]."""
    rewards: ClassVar[Rewards]
    """Reward variants by name: functions from the world to the price of every event that has one.

    Another one is one more entry; `World.rewards["mine"] = …` adds it from elsewhere.
    """

    def __deepcopy__(self, memo: object) -> Self:
        return self  # nothing in it changes, and it may hold large tables

    # What a world is -----------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What sentences call it."""
        return type(self).__name__

    @property
    @abc.abstractmethod
    def action_names(self) -> tuple[str, ...]:
        """The actions, by index."""

    @property
    @abc.abstractmethod
    def horizon(self) -> int:
        """The number of steps after which every episode has ended."""

    @property
    @abc.abstractmethod
    def typical_length(self) -> int:
        """How many steps a stock of levels has for each: those of a quick but ordinary episode; of
        the shortest one, if levels cost little."""

    @property
    def shortest_length(self) -> int:
        """No episode has fewer steps. Where `typical_length` is not larger, a stock always lasts,
        and nothing looks whether it does."""
        return 1

    @property
    @abc.abstractmethod
    def obs_shape(self) -> tuple[int, ...]:
        """Shape of a decoded observation."""

    @property
    def alphabet(self) -> np.ndarray | None:
        """The table symbol → observation, or None if there are too many observations for one."""
        return None

    @property
    def n_symbols(self) -> int | None:
        """How many symbols there are, with a table or without; None if `obs` are the arrays."""
        return None if self.alphabet is None else len(self.alphabet)

    @property
    def tiles(self) -> Tiles | None:
        """How every symbol's image is laid out from tiles; None if they are no such images."""
        return None

    def reward_variants(self) -> dict[str, Mapping[str, float]]:
        """The reward variants: for each, the price of every event that has one."""
        return {name: prices(self) for name, prices in self.rewards.items()}

    # What happens in it --------------------------------------------------------------------

    @abc.abstractmethod
    def level(self, key: PRNGKeyArray) -> L:
        """Draw the level of one episode."""

    @abc.abstractmethod
    def start(self, level: L) -> tuple[S, Shaped[Array, "*obs"]]:
        """Begin an episode in `level`."""

    @abc.abstractmethod
    def step(self, state: S, action: Int[Array, ""], key: PRNGKeyArray) -> tuple[S, Step]:
        """Take one step. What it does after the end of an episode is not defined."""

    def reset(self, key: PRNGKeyArray) -> tuple[S, Shaped[Array, "*obs"]]:
        """Begin an episode in a level drawn from `key`."""
        return self.start(self.level(key))

    def decode(self, obs: Shaped[Array, "*obs"]) -> Shaped[Array, "*array"]:
        """The array that a handed-out observation stands for; it broadcasts over symbols."""
        return obs if self.alphabet is None else jnp.asarray(self.alphabet)[obs]

    # What may be known of it ---------------------------------------------------------------

    @abc.abstractmethod
    def info(self, state: S) -> dict[str, Array]:
        """What instruments may read off a state, as arrays. The agent never sees it."""

    def describe(self) -> str:
        """More about it than its docstring says, in a sentence or two; empty if there is none."""
        return ""

    def explain(self, state: S) -> PlainInfo:
        """`info` in plain Python, for people and for Gymnasium's `info`."""
        found = _info(self, state).items()
        return self.plain({name: np.asarray(value).tolist() for name, value in found})

    def plain(self, info: PlainInfo) -> PlainInfo:
        """What `explain` makes of `info`, whose values are numbers and lists of numbers by now."""
        return info

    def latent(self) -> Latent[S, PyTree[Array]] | None:
        """What probes ask of a memory in this world; None if nothing is asked."""
        return None

    def knowledge(self) -> Knowledge[PyTree[Array]] | None:
        """What a perfect memory would know in this world; None if nobody has written it down."""
        return None

    def enumeration(self, priced: Set[str]) -> Enumeration[S] | None:
        """How `clew.machines` reads this world if the reward prices these events; None if not."""
        return None

    @abc.abstractmethod
    def picture(self, state: S) -> np.ndarray:
        """An RGB picture of the whole state that a person can read."""

    # Prices --------------------------------------------------------------------------------

    def prices(self, reward: str | Mapping[str, float]) -> Float[np.ndarray, " event"]:
        """The price vector of a reward variant, or of a mapping event → price of your own."""
        world = self.title
        if isinstance(reward, str):
            variants = self.reward_variants()
            known_names(f"reward of {world}", [reward], variants)
            reward = variants[reward]
        if not isinstance(reward, Mapping):
            valid = listing(self.reward_variants())
            raise BadInput(
                f"reward={reward!r} is not valid; choose {valid}, or map events to prices"
            )
        known_names(f"event of {world}", reward, self.event_names)
        paid = {name: finite_number(f"price of {name}", price) for name, price in reward.items()}
        return np.array([paid.get(name, 0.0) for name in self.event_names])

    def events(self, **happened: Array) -> Float[Array, " event"]:
        """Lay named events out in the order of `event_names`; those not named did not happen."""
        known_names(f"event of {type(self).__name__}", happened, self.event_names)
        zero = jnp.float32(0)
        return jnp.stack([jnp.float32(happened.get(name, zero)) for name in self.event_names])


def priced(
    prices: Float[Array | np.ndarray, " event"], events: Float[Array, "*batch event"]
) -> Float[Array, "*batch"]:
    """The reward: events, priced. (Full precision: GPUs would round the prices to 10 bits.)"""
    prices = jnp.asarray(prices, events.dtype)
    return jnp.dot(events, prices, precision=jax.lax.Precision.HIGHEST)


@partial(jax.jit, static_argnames="env")
def _info(env: Environment, state: PyTree) -> dict[str, Array]:
    return env.info(state)
