"""Is the knowledge that a world gives all that matters of the past? Decided over all histories.

Knowledge sees nothing but the history, so it cannot say more than that; here is decided whether it
says as much. (It imports jax: import it late.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree

from clew import envs
from clew.envs import Environment, Knowledge
from clew.machines.exact.numbers import summed
from clew.machines.model.belief import LIMIT, Posterior, coprime
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.environments import priced_events
from clew.machines.worlds.jax_env import JaxWalker, walked
from clew.validate import BadInput, whole_number

BATCH = 1024
Outcome = tuple[int, Fraction, int | None]
"""Next observation, reward, and the node that this leads to; None if the episode is over."""


@dataclass(frozen=True)
class KnowledgeProof:
    """Whether observation and knowledge together are all that matters of the past.

    They are if any two histories that share them have one future: every action has the same law of
    reward, end, next observation and next knowledge. By induction over time every policy then has
    the same future after both, and the best one without a memory is as good as the best with any.
    """

    world: str
    histories: int
    """How many were told apart, by posterior or by what is remembered; they stand for all."""
    situations: int
    """Distinct pairs of observation and knowledge."""
    counterexample: tuple[str, str, str] | None = None
    """Two histories with one observation and knowledge, and the action after which they differ."""

    @property
    def sufficient(self) -> bool:
        """Whether it is proved; if not, there is a counterexample."""
        return self.counterexample is None

    def __str__(self) -> str:
        counted = f"{self.histories:,} histories, {self.situations:,} situations"
        if self.counterexample is None:
            return f"{self.world}: knowledge is sufficient ({counted})"
        one, two, action = self.counterexample
        return (
            f"{self.world}: knowledge is not sufficient ({counted}). It is the same after\n"
            f"  {one}\nand after\n  {two}\nbut {action!r} then has different laws."
        )


def check_knowledge(
    env: str | Environment, reward: str | Mapping[str, float] = "sparse", limit: int = LIMIT
) -> KnowledgeProof:
    """Follow every history of a world with an `Environment.enumeration`, without a time limit.

    A history is one after which the agent is to act: it knows that the episode is not over.
    """
    whole_number("limit", limit, 1)
    world = envs.make(env) if isinstance(env, str) else env
    knowledge = world.knowledge()
    states = world.enumeration(priced_events(world, reward))
    if knowledge is None or states is None:
        missing = "knowledge" if knowledge is None else "enumeration"
        raise BadInput(f"{type(world).__name__} has no {missing}; write its `{missing}` first")
    walker = JaxWalker(world, states.variables, world.prices(reward))
    pomdp = walked(walker, states.levels(), name=repr(world))
    histories = _Histories(pomdp, _Memory(knowledge, _as_handed_out(world, walker)), limit)
    situations = histories.situations()
    return KnowledgeProof(
        pomdp.name, len(situations), len(set(situations)), histories.conflict(situations)
    )


class _Node(NamedTuple):
    """All histories with one posterior and one memory."""

    observation: int
    posterior: Posterior
    """Over the states in which the episode is not over."""
    known: bytes


class _Histories:
    """The nodes, breadth first, and what every action does in each."""

    def __init__(self, pomdp: Pomdp, memory: _Memory, limit: int):
        self.pomdp, self.memory = pomdp, memory
        self.nodes: dict[_Node, int] = {}
        self.parents: list[tuple[int, int] | None] = []
        self.known: list[PyTree[np.ndarray]] = []
        self.rows: list[list[dict[Outcome, Fraction]]] = []
        begins = _by_observation(
            pomdp, ((b.state, b.observation, b.probability) for b in pomdp.start)
        )
        known = memory.start(list(begins))
        for (o, posterior), remembered in zip(begins.items(), known, strict=True):
            self._node(o, posterior, remembered, None)
        while len(self.rows) < len(self.nodes):
            self._grow()
            if len(self.nodes) > limit:
                raise BadInput(f"more than limit={limit:,} histories; choose a smaller world")

    def situations(self) -> list[tuple[int, bytes]]:
        """The observation and the knowledge at each node."""
        seen = [node.observation for node in self.nodes]
        return list(zip(seen, self.memory.arrays(self.known, seen), strict=True))

    def conflict(self, situations: Sequence[Hashable]) -> tuple[str, str, str] | None:
        """Two nodes in one situation with different laws, if there are any."""
        first: dict[Hashable, int] = {}
        for place, situation in enumerate(situations):
            other = first.setdefault(situation, place)
            for action, name in enumerate(self.pomdp.actions):
                one, two = (
                    summed(
                        ((o, reward, after is None or situations[after]), p)
                        for (o, reward, after), p in self.rows[node][action].items()
                    )
                    for node in (other, place)
                )
                if one != two:
                    return self._words(other), self._words(place), name
        return None

    def _grow(self) -> None:
        """Expand every node that has no rows yet."""
        posteriors = [node.posterior for node in list(self.nodes)[len(self.rows) :]]
        first, actions = len(self.rows), range(len(self.pomdp.actions))
        steps = [[_step(self.pomdp, posterior, a) for a in actions] for posterior in posteriors]
        ways = [
            (first + i, a, o) for i, row in enumerate(steps) for a, (_, after) in enumerate(row)
            for o in after
        ]  # fmt: skip
        remembered = self.memory.look([self.known[i] for i, _, _ in ways], ways)
        leads = {
            (i, a, o): self._node(o, steps[i - first][a][1][o], known, (i, a))
            for (i, a, o), known in zip(ways, remembered, strict=True)
        }
        for i, row in enumerate(steps, first):
            self.rows.append([
                summed(
                    ((o, reward, None if over else leads[i, a, o]), p)
                    for (o, reward, over), p in law.items()
                )
                for a, (law, _) in enumerate(row)
            ])  # fmt: skip

    def _node(
        self, o: int, posterior: Posterior, known: PyTree, parent: tuple[int, int] | None
    ) -> int:
        node = _Node(o, posterior, b"".join(leaf.tobytes() for leaf in jax.tree.leaves(known)))
        if node not in self.nodes:
            self.nodes[node] = len(self.nodes)
            self.known.append(known)
            self.parents.append(parent)
        return self.nodes[node]

    def _words(self, place: int) -> str:
        nodes = list(self.nodes)
        backwards = [self.pomdp.observations[nodes[place].observation]]
        while (parent := self.parents[place]) is not None:
            place, action = parent
            backwards += [self.pomdp.actions[action]]
            backwards += [self.pomdp.observations[nodes[place].observation]]
        return ", ".join(reversed(backwards))


class _Memory:
    """A world's knowledge, many histories at a time, with observations by their numbers."""

    def __init__(self, knowledge: Knowledge, shown: Sequence[np.ndarray]):
        self.shown = np.stack(shown)
        self._start = jax.jit(jax.vmap(knowledge.start))
        self._look = jax.jit(jax.vmap(knowledge.look))
        self._array = jax.jit(jax.vmap(knowledge.array))

    def start(self, seen: Sequence[int]) -> list[PyTree[np.ndarray]]:
        return _unstacked(self._start(self.shown[list(seen)]))

    def look(
        self, known: Sequence[PyTree], ways: Sequence[tuple[int, int, int]]
    ) -> list[PyTree[np.ndarray]]:
        actions = np.array([action for _, action, _ in ways], np.int32)
        seen = self.shown[[o for _, _, o in ways]]
        return [
            one
            for some, n in _batches(len(ways))
            for one in _unstacked(
                self._look(_stacked([known[i] for i in some]), actions[some], seen[some])
            )[:n]
        ]

    def arrays(self, known: Sequence[PyTree], seen: Sequence[int]) -> list[bytes]:
        shown = self.shown[list(seen)]
        return [
            row.tobytes()
            for some, n in _batches(len(known))
            for row in np.asarray(self._array(_stacked([known[i] for i in some]), shown[some]))[:n]
        ]


def _batches(n: int) -> Iterable[tuple[np.ndarray, int]]:
    """Places, always as many at a time, so that one program is compiled; and how many count."""
    for first in range(0, n, BATCH):
        yield np.minimum(np.arange(first, first + BATCH), n - 1), min(BATCH, n - first)


def _stacked(trees: Sequence[PyTree]) -> PyTree[np.ndarray]:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def _unstacked(tree: PyTree) -> list[PyTree[np.ndarray]]:
    leaves, form = jax.tree.flatten(jax.tree.map(np.asarray, tree))
    return [form.unflatten(row) for row in zip(*leaves, strict=True)]


def _step(
    pomdp: Pomdp, posterior: Posterior, action: int
) -> tuple[dict[tuple[int, Fraction, bool], Fraction], dict[int, Posterior]]:
    """Pr(o', r, over), and the posterior after each o' if it is not over."""
    total = sum(weight for _, weight in posterior)
    ways = [
        (b, Fraction(weight, total) * b.probability)
        for s, weight in posterior
        for b in pomdp.steps[s][action]
    ]
    law = summed(((b.observation, b.reward, b.state in pomdp.terminal), p) for b, p in ways)
    return law, _by_observation(pomdp, ((b.state, b.observation, p) for b, p in ways))


def _by_observation(
    pomdp: Pomdp, ways: Iterable[tuple[int, int, Fraction]]
) -> dict[int, Posterior]:
    """What each observation says of the state, given that the episode is not over."""
    weights: dict[int, dict[int, Fraction]] = {}
    for (o, s), p in summed(((o, s), p) for s, o, p in ways if s not in pomdp.terminal).items():
        weights.setdefault(o, {})[s] = p
    return {o: _whole(some) for o, some in sorted(weights.items())}


def _whole(weights: dict[int, Fraction]) -> Posterior:
    scale = lcm(*(p.denominator for p in weights.values()))
    return tuple(sorted(coprime({s: int(p * scale) for s, p in weights.items()}).items()))


def _as_handed_out(world: Environment, walker: JaxWalker) -> list[Any]:
    """The observations by their numbers, as `Environment.step` returns them."""
    _, like = jax.eval_shape(world.reset, jax.random.key(0))
    return [
        np.frombuffer(one, like.dtype).reshape(like.shape)
        if isinstance(one, bytes)
        else np.asarray(one, like.dtype)
        for one in walker.seen
    ]
