"""Small Gymnasium environments, by copying them before every step.

What is random is enumerated: the tables of Gymnasium's toy texts are read as they are; elsewhere
the environment's generator is replaced by one that forks at every draw (`chance`). Where that
cannot be done, many seeds are walked, and the answer says what they may have missed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from clew.envs.enumeration import LIMIT
from clew.envs.hosted.spaces import space_words
from clew.machines.exact.numbers import NumberLike, rational, summed
from clew.machines.model.pomdp import Begin, Branch, Pomdp
from clew.machines.worlds.attributes import REST, Attributes, generators
from clew.machines.worlds.chance import CannotEnumerateError, Oracle, Uniform, outcomes
from clew.machines.worlds.enumerate import (
    First,
    StateVariables,
    Taken,
    TooFewVariables,
    Walker,
    walk,
)
from clew.machines.worlds.gym_calls import actions_of, copied, its_own, reset, step
from clew.machines.worlds.gym_words import symbol, written
from clew.validate import BadInput, one_of, whole_number

if TYPE_CHECKING:
    from gymnasium import Env

RESETS = 10
SEEDS = 1000
"""Seeds of an episode's beginning that are walked where it cannot be enumerated."""
STEP_SEEDS = 200
"""The same for one step, which there are many of."""
CLOCKED = 2_000
"""States that are tried where time is part of them: it may never end."""
MISSED = 100
"""What is left out is bounded with confidence 1 − 1/MISSED."""


def from_gym(
    env: Env,
    variables: StateVariables[Env] | None = None,
    *,
    seeds: int | Sequence[int] | None = None,
    reward: str = "native",
    discount: NumberLike = "99/100",
    limit: int = LIMIT,
    name: str = "",
) -> Pomdp:
    """Enumerate an environment whose actions can be tried one by one and which can be copied.

    `variables` maps the environment (unwrapped) to its named latent variables, which together
    decide what happens next; without it they are its attributes. With `seeds`, or where the
    beginning cannot be enumerated, episodes begin as they do under these seeds, each as likely.
    `reward="sign"` pays 1, 0 or −1 where the environment pays more or less than nothing.
    """
    one_of("reward", reward, ("native", "sign"))
    exact, name = rational("discount", discount), name or _name(env)
    table = _table(env) if variables is None and seeds is None else None
    if table is not None:
        return _from_table(table, env, reward, exact, name)
    if variables is not None:
        return _walked(GymWalker(env, variables, reward), seeds, exact, limit, name)
    attributes = Attributes(env)
    try:
        return _walked(GymWalker(env, attributes, reward), seeds, exact, limit, name)
    except TooFewVariables as error:
        if not attributes.clocks:
            raise
        walker, limit = GymWalker(env, Attributes(env, True), reward), min(limit, CLOCKED)
        walker.timed = True
        try:
            pomdp = _walked(walker, seeds, exact, limit, name)
        except BadInput:
            raise error from None
    kept = f"time is part of a state, as what happens depends on it: {', '.join(attributes.clocks)}"
    return replace(pomdp, notes=(*pomdp.notes, kept))


def _walked(
    walker: GymWalker, seeds: int | Sequence[int] | None, discount: Fraction, limit: int, name: str
) -> Pomdp:
    pomdp = walk(walker, walker.begin(seeds), discount, limit, name)
    varied = {v: values for v, values in pomdp.variables.items() if len(set(values[:-1])) > 1}
    notes = (*pomdp.notes, *walker.notes())
    if REST in varied:
        notes = (*notes, f"{REST} is what all attributes hold that are no numbers or words")
    return replace(pomdp, variables=varied, notes=notes, draws=walker.draws)


def _name(env: Env) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


class GymWalker(Walker["Env"]):
    """A state is a copy of the environment."""

    def __init__(self, env: Env, variables: StateVariables[Env], reward: str = "native"):
        names, self.taken = actions_of(env)
        self.limit = getattr(getattr(env, "spec", None), "max_episode_steps", None)

        def named(copy: Env) -> Mapping[str, Hashable]:
            with its_own("the function of the latent variables"):
                return variables(copy.unwrapped)

        super().__init__(named, names, (self.limit or 10**6) - 1)
        self.env, self.reward = env, reward
        self.written: dict[Hashable, str] = {}
        self.draws = 0
        self.why = ""
        self._outside = _globally()
        self.retraced = (4, 20)  # copies are slow
        self.generator = getattr(env.unwrapped, "np_random", None)  # which makes it, where it can
        self.left_out = getattr(variables, "clocks", ())
        self.timed = False
        """Whether time is part of a state: then a time limit ends an episode as all else does."""
        self.way_out = (
            "; name more of them (state=module:function), or, where rewards shrink with time, look "
            "at their sign (reward=sign)"
        )
        if self.left_out:
            self.way_out += f"; left out, as they only count steps: {', '.join(self.left_out)}"
        self.picture = _picture if env.render_mode == "rgb_array" else None

    def begin(self, seeds: int | Sequence[int] | None) -> list[First[Env]]:
        """Every way an episode can begin."""
        if seeds is None:
            ways = self._every(self.env, reset, SEEDS)
            seen = {(symbol(obs), self.key(env)) for (obs, env), _ in ways}
            plain = [copied(self.env) for _ in range(RESETS)]
            for seed, env in enumerate(plain, SEEDS):
                # else all copies would draw the same
                env.unwrapped._np_random = np.random.default_rng(seed)  # pyright: ignore[reportPrivateUsage]
            if any((symbol(reset(env)), self.key(env)) not in seen for env in plain):
                if self.draws:
                    raise BadInput(
                        f"{_name(self.env)} begins in more ways than {SEEDS:,} seeds show, because "
                        f"{self.why}; only an environment with few states can be decided"
                    )
                raise BadInput(
                    f"{_name(self.env)} begins in ways that its np_random does not decide; let it "
                    "draw from self.np_random, or say which seeds to walk (seeds=1000)"
                )
        else:
            some = range(seeds) if isinstance(seeds, int) else seeds
            whole_number("number of seeds", len(some), 1)
            copies = [copied(self.env) for _ in some]
            shown = [(reset(env, seed), env) for env, seed in zip(copies, some, strict=True)]
            ways = [(way, Fraction(1, len(some))) for way in shown]
            self.draws = max(self.draws, len(some))
            self.why = self.why or "seeds were asked for"
        return [First(self.key(env), env, self.shown(obs), p) for (obs, env), p in ways]

    def step(self, states: Sequence[Env]) -> list[list[list[tuple[Taken, Env]]]]:
        """What every action does to each state, and the states after."""
        return [[self._taken(env, a) for a in range(len(self.actions))] for env in states]

    def called(self, observation: Hashable) -> str:
        """As people read it; nothing for what is long."""
        return self.written[observation]

    def shown(self, obs: Any) -> int:
        """The number of an observation, which also gets a name."""
        same = symbol(obs)
        if same not in self.written:
            self.written[same] = written(obs)
        return self.number(same)

    def notes(self) -> Iterable[str]:
        """What the seeds may have missed, what was left out, and what the names stand for."""
        if self.draws:
            share = math.log(MISSED) / self.draws
            missed = (
                "so few say nothing of what they may have missed; take more, such as seeds=1000"
            )
            if share < 1:
                missed = (
                    f"what happens more often than {share:.1%} of the time is missed with a chance "
                    f"of less than 1 in {MISSED}"
                )
            yield f"probabilities are from {self.draws:,} seeds, because {self.why}: {missed}"
        first = self.actions[0]
        if first == f"a{self.taken[0]}" or not isinstance(self.taken[0], int):
            yield f"actions go by the numbers that a step takes, such as {first}"
        if any(isinstance(seen, int) for seen in self.seen):
            yield "o0, o1, … are observations, by their numbers"
        if "" in self.written.values():
            yield (
                "view 0, view 1, … are observations that are too long to write out, numbered as "
                f"they were found: {space_words(self.env.observation_space)}"
            )
        if self.limit and not self.timed:
            yield f"the time limit of {self.limit:,} steps is left out"
        if self.left_out:
            yield f"attributes that only count steps are left out: {', '.join(self.left_out)}"

    def _taken(self, env: Env, action: int) -> list[tuple[Taken, Env]]:
        ways = self._every(env, lambda copy: step(copy, self.taken[action]), STEP_SEEDS)
        found: dict[Taken, tuple[Fraction, Env]] = {}
        for ((obs, reward, terminated, truncated), after), p in ways:
            ended = terminated or (truncated and self.timed)
            taken = Taken(self.key(after), self.shown(obs), self._paid(reward), ended)
            so_far = found.get(taken, (Fraction(0), after))
            found[taken] = (so_far[0] + p, so_far[1])
        return [(taken._replace(probability=p), after) for taken, (p, after) in found.items()]

    def _paid(self, reward: Any) -> Fraction:
        paid = rational("reward", float(reward))
        return Fraction((paid > 0) - (paid < 0)) if self.reward == "sign" else paid

    def _every(
        self, env: Env, act: Callable[[Env], Any], seeds: int
    ) -> list[tuple[tuple[Any, Env], Fraction]]:
        """Every outcome of a reset or step, with the copy it happened to."""
        before = _randomness(env)
        copy = copied(env)
        result = act(copy)
        if before is not None and before == _randomness(copy) and _globally() == self._outside:
            return [((result, copy), Fraction(1))]

        def run(oracle: np.random.Generator) -> tuple[Any, Env]:
            copy = copied(env)
            copy.unwrapped._np_random = oracle  # pyright: ignore[reportPrivateUsage]
            return act(copy), copy

        try:
            self._same_outside(act, env)
            return [(_own_generator(way), p) for way, p in outcomes(run)]
        except CannotEnumerateError as error:
            self.draws = max(self.draws, seeds) if not self.draws else min(self.draws, seeds)
            self.why = self.why or str(error)
            self.retraced = (2, 3)
        found = []
        for seed in range(seeds):
            copy = copied(env)
            _reseed(copy, seed)
            found.append(((act(copy), copy), Fraction(1, seeds)))
        self._outside = _globally()
        return found

    def _same_outside(self, act: Callable[[Env], Any], env: Env) -> None:
        """Refuse to enumerate what draws from a generator that is not the environment's own."""
        copy = copied(env)
        others = [g for g in generators(copy) if g is not getattr(copy.unwrapped, "_np_random", 0)]
        states, outside = [_state(g) for g in others], _globally()
        act(copy)
        if states != [_state(g) for g in others] or outside != _globally():
            self._outside = _globally()
            raise CannotEnumerateError("it draws from a generator other than its np_random")
        if getattr(copy.unwrapped, "_np_random", None) is None:
            raise CannotEnumerateError("it has no np_random")


def _picture(env: Env) -> np.ndarray:
    try:
        picture = np.asarray(deepcopy(env).render(), np.uint8)  # what it draws with is not copied
        if picture.ndim != 3 or picture.shape[2] != 3:
            raise ValueError(f"render() gave an array of shape {picture.shape}, not [y, x, 3]")
        return picture
    except Exception as error:
        raise BadInput(f"{_name(env)} cannot be drawn ({type(error).__name__}: {error})") from error


def _own_generator(way: tuple[Any, Env]) -> tuple[Any, Env]:
    """The copy with a plain generator again, which can be copied."""
    if any(isinstance(value, Uniform) for value in vars(way[1].unwrapped).values()):
        raise CannotEnumerateError("a uniform number is kept for later")
    way[1].unwrapped._np_random = np.random.default_rng(0)  # pyright: ignore[reportPrivateUsage]
    return way


def _state(generator: Any) -> str:
    if isinstance(generator, random.Random):
        return str(hash(generator.getstate()))
    if isinstance(generator, np.random.RandomState):
        _, numbers, place, *_ = generator.get_state(legacy=True)
        return f"{hash(np.asarray(numbers).tobytes())} {place}"
    return repr(generator.bit_generator.state)


def _randomness(env: Env) -> tuple[str, ...] | None:
    """The states of all generators that an environment holds; None if its own is not made yet."""
    if getattr(env.unwrapped, "_np_random", None) is None:
        return None
    return tuple(_state(generator) for generator in generators(env))


def _globally() -> Hashable:
    """The states of the generators that everybody shares."""
    _, numbers, place, *_ = np.random.get_state(legacy=True)
    return hash(random.getstate()), np.asarray(numbers).tobytes(), place


def _reseed(env: Env, seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    env.unwrapped._np_random = np.random.default_rng(seed)  # pyright: ignore[reportPrivateUsage]
    for generator in generators(env):
        if isinstance(generator, np.random.Generator):
            fresh = type(generator.bit_generator)(seed)
            generator.bit_generator.state = fresh.state
        else:
            generator.seed(seed)


Rows = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]


def _table(env: Env) -> Rows | None:
    """The table of a toy text, `P[state][action]`, if what is seen is the state."""
    import gymnasium
    from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

    inner: Any = env
    while isinstance(inner, TimeLimit | OrderEnforcing | PassiveEnvChecker):
        inner = inner.env
    rows, start = getattr(inner, "P", None), getattr(inner, "initial_state_distrib", None)
    plain = inner is env.unwrapped and isinstance(env.observation_space, gymnasium.spaces.Discrete)
    if not plain or not isinstance(rows, dict) or start is None:
        return None
    return cast(Rows, rows)


def _from_table(rows: Rows, env: Env, reward: str, discount: Fraction, name: str) -> Pomdp:
    """States are what is seen; those in which an episode is over are terminal."""
    start: Any = env.unwrapped.initial_state_distrib  # type: ignore[attr-defined]
    over = {to for row in rows.values() for ways in row.values() for _, to, _, end in ways if end}
    walker = GymWalker(env, lambda copy: {}, reward)

    def law(ways: Sequence[tuple[float, int, float, bool]]) -> tuple[Branch, ...]:
        exact = [rational("a probability", float(p)) for p, _, _, _ in ways]
        total = sum(exact, Fraction(0))
        found = summed(
            ((int(to), walker._paid(paid)), p / total)  # pyright: ignore[reportPrivateUsage]
            for p, (_, to, paid, _) in zip(exact, ways, strict=True)
            if p
        )
        return tuple(Branch(to, to, p, paid) for (to, paid), p in found.items())

    def stay(s: int) -> tuple[tuple[Branch, ...], ...]:
        return ((Branch(s, s, Fraction(1), Fraction(0)),),) * len(walker.actions)

    begins = [rational("a probability", float(p)) for p in start]
    observations = tuple(walker.called(s) for s in map(walker.shown, range(len(rows))))
    names = tuple(f"s{s}" for s in range(len(rows)))
    return Pomdp(
        states=names,
        actions=walker.actions,
        observations=observations,
        start=tuple(Begin(s, s, p / sum(begins)) for s, p in enumerate(begins) if p),
        steps=tuple(
            stay(s) if s in over else tuple(law(rows[s][a]) for a in range(len(walker.actions)))
            for s in range(len(rows))
        ),
        discount=discount,
        terminal=frozenset(over),
        variables={"state": names},
        name=name,
        notes=tuple(walker.notes()),
    )


__all__ = ["CannotEnumerateError", "GymWalker", "Oracle", "from_gym"]
