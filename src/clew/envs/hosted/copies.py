"""Copies of a Gymnasium environment, alive: they are reset, stepped, and begin again by themselves.

Gymnasium's vectors begin the next episode in one of three ways (`AutoresetMode`). Here all come to
the same: a step returns the last observation of the episode that it ended, and the copy stands at
the first one of the next.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from jaxtyping import Bool, Float, Int

from clew.envs.hosted.finite import parts_of, require_finite
from clew.envs.hosted.recipe import EnvironmentFailed, Info, explained
from clew.envs.hosted.spaces import Batch, outside
from clew.validate import BadInput, hint, listing

if TYPE_CHECKING:
    from clew.envs.hosted.environment import HostedEnvironment

INFO = ("is_success", "success")
"""Where an environment says in its `info` whether the episode has succeeded, as is the custom."""

TIMED, LONGEST = 200, 0.5
"""Random steps for a forecast or a caution, and seconds that they may take."""
PATIENCE = 2.0
"""Seconds that random episodes may take before training: one, or more if a key is looked for."""
ENOUGH = 100
"""Episodes after which a key that none of them had is refused."""


class HostStep(NamedTuple):
    """What every copy answered to its action."""

    final: Batch
    """What the action led to: the last observation of the episode if it ended there."""
    obs: Batch
    """What is seen now: the first observation of the next episode, if the last one ended."""
    reward: Float[np.ndarray, " env"]
    terminated: Bool[np.ndarray, " env"]
    truncated: Bool[np.ndarray, " env"]
    success: Bool[np.ndarray, " env"]
    """Only where an episode ended."""
    info: Info
    """Of the step, as the vector has it: a mask under `_key` beside the values under `key`."""


class Copies:
    """`n` copies of an environment. Observations are good until the next call, and no longer."""

    def __init__(
        self, env: HostedEnvironment, n: int, *, once: bool = False, filmed: bool = False
    ) -> None:
        """With `once`, every copy plays one episode; what ended copies answer does not count."""
        self.env, self._n = env, n
        mode = AutoresetMode.NEXT_STEP if once else AutoresetMode.DISABLED
        kind, drawn = ("sync", "rgb_array") if filmed else (env.vector, None)
        with self._its_own("be made"):
            self._vector = env.recipe.vector(n, kind, mode, once, drawn)
        self._mode = _mode_of(self._vector, env.title)
        self._stand_still = once and not env.recipe.makes_vectors
        self._return = np.zeros(n)
        self._key = env.success_key
        self._looks = True
        """In the first episode, at whole numbers outside their space: afterwards it would cost."""

    def reset(self, seeds: Sequence[int]) -> tuple[Batch, Info]:
        """Begin an episode in every copy."""
        self._return = np.zeros(self._n)
        # a vector of the user's own has one seed for all
        seed = list(seeds) if _is_gymnasiums(self._vector) else seeds[0]
        with self._its_own("reset"):
            obs, info = self._vector.reset(seed=seed)  # type: ignore[arg-type]
        self._look(obs)
        return obs, info

    def step(self, actions: Int[np.ndarray, " env"]) -> HostStep:
        """Step every copy, and begin the next episode where one ended."""
        with self._its_own("step"):
            obs, reward, terminated, truncated, info = self._vector.step(
                self.env.actions.taken(actions)
            )
        self._look(obs)
        self._return = self._return + reward
        done = terminated | truncated
        self._looks = self._looks and not done.any()
        if not done.any():
            return HostStep(obs, obs, reward, terminated, truncated, done, info)
        final = obs
        if self._mode is AutoresetMode.SAME_STEP:
            final, info = _put(obs, info["final_obs"], done), info.get("final_info", {})
        success = self._succeeded(done, info)
        self._return = np.where(done, 0, self._return)
        if self._mode is not AutoresetMode.SAME_STEP and not self._stand_still:
            final = _copied(obs)  # the vector may use the same array again
            with self._its_own("reset"):
                obs, _ = self._vector.reset(options={"reset_mask": done})
        return HostStep(final, obs, reward, terminated, truncated, success, info)

    def far_outside(self, obs: Batch) -> str:
        """A float that is far outside of its space; empty if none is."""
        return outside(self._vector.single_observation_space, obs, self.env.keys_seen, floats=True)

    def frame(self) -> np.ndarray:
        """A picture of the first copy, if they are filmed."""
        with self._its_own("be drawn"):
            return np.asarray(self._vector.render()[0])  # type: ignore[index]

    def close(self) -> None:
        """Let the copies go, with their processes if they have any.

        What goes wrong here takes nothing away from what was played; a process that has ended
        before cannot answer.
        """
        try:
            self._vector.close()
        except (Exception, SystemExit) as error:
            if isinstance(self._vector, AsyncVectorEnv):
                for process in self._vector.processes:
                    process.terminate()
                self._vector.closed = True
            if not isinstance(error, (ConnectionError, EOFError)):
                said = f"{self.env.title} could not close: {explained(error)}"
                warnings.warn(said, stacklevel=2)

    def _look(self, obs: Batch) -> None:
        space, keys = self._vector.single_observation_space, self.env.keys_seen
        if self._looks and (wrong := outside(space, obs, keys)):
            raise EnvironmentFailed(
                f"{self.env.title} returned {wrong}; correct it, or its observation_space"
            )

    def _succeeded(self, done: Bool[np.ndarray, " env"], info: Info) -> np.ndarray:
        """By the environment's word, or by the episode's return; see `HostedEnvironment`."""
        env = self.env
        if env.success_return is not None:
            return done & (self._return >= env.success_return)
        self._key = self._key or next((key for key in INFO if key in info), None)
        if self._key is not None:
            if self._key not in info:
                return np.zeros(self._n, bool)  # not said: not succeeded
            return self._said(self._key, info, done & info.get(f"_{self._key}", True))
        if env.threshold is None:
            raise BadInput(
                f"{env.title} does not say when an episode has succeeded: its info has neither "
                f"{INFO[0]!r} nor {INFO[1]!r}, and it has no reward threshold; state the option "
                "success_return, the return from which an episode counts as a success, or "
                "success_key, the key of its info that says so when one has succeeded"
            )
        return done & (self._return >= env.threshold)

    def _said(self, key: str, info: Info, where: Bool[np.ndarray, " env"]) -> np.ndarray:
        """What stands under the key, as true or false."""
        values, found = np.asarray(info[key]), np.zeros(self._n, bool)
        for i in np.flatnonzero(where).tolist():
            value = values[i] if values.ndim else values
            value = value.item() if np.ndim(value) == 0 and hasattr(value, "item") else value
            if not isinstance(value, (bool, int, float)) or value not in (0, 1):
                raise BadInput(
                    f"at the end of an episode of {self.env.title} info[{key!r}] is {value!r}, "
                    "which is no success and no failure; it must be True or False, or 1 or 0, "
                    "unless you state success_return"
                )
            found[i] = value
        return found

    @contextmanager
    def _its_own(self, doing: str) -> Iterator[None]:
        """What an environment raises is its own error, and no mistake of whoever called Clew."""
        try:
            yield
        except BadInput:
            raise
        except (Exception, SystemExit) as error:
            raise EnvironmentFailed(
                f"{self.env.title} could not {doing}: {explained(error)}"
            ) from error


def step_seconds(env: HostedEnvironment) -> float:
    """How long one copy takes for a step, by some random ones."""
    require_playable(env)
    copy = Copies(env, 1)
    try:
        copy.reset([0])
        began = time.perf_counter()
        steps = sum(1 for _ in _some_steps(copy))
        return (time.perf_counter() - began) / steps
    except EnvironmentFailed as error:
        raise BadInput(str(error)) from error
    finally:
        copy.close()


@cache
def far_outside(env: HostedEnvironment) -> str:
    """Which float of some random steps is far outside of its space, where nobody says by what it is
    to be divided."""
    if env.obs_scale is not None:
        return ""
    wrong = ""
    # an environment that fails is told where it is trained
    with (
        suppress(EnvironmentFailed, BadInput),
        closing(Copies(replace(env, vector="sync"), 1)) as copy,
    ):
        wrong = copy.far_outside(copy.reset([0])[0])
        steps = _some_steps(copy)
        while not wrong and (step := next(steps, None)):
            wrong = copy.far_outside(step.final)
    if not wrong:
        return ""
    return (
        f"{env.title} returned {wrong}; networks see floats as they are, so correct the space, or "
        "state obs_scale, by which they are divided"
    )


def says_success(env: HostedEnvironment) -> bool:
    """Whether one can know when an episode has succeeded, as far as some random steps show."""
    if env.threshold is not None:
        return True
    # an environment that fails is told where it is trained
    with (
        suppress(EnvironmentFailed, BadInput),
        closing(Copies(replace(env, vector="sync"), 1)) as copy,
    ):
        copy.reset([0])
        return any((step.terminated | step.truncated).any() for step in _some_steps(copy))
    return False


def _some_steps(copy: Copies) -> Iterator[HostStep]:
    """Random ones of a copy that was reset."""
    random, began = np.random.default_rng(0), time.perf_counter()
    for _ in range(TIMED):
        yield copy.step(random.integers(len(copy.env.action_names), size=1))
        if time.perf_counter() - began >= LONGEST:
            return


def require_playable(env: HostedEnvironment) -> None:
    """Refuse what fails in a random episode as a user's mistake: nothing was trained yet."""
    try:
        require_keys(env)
    except EnvironmentFailed as error:
        raise BadInput(str(error)) from error


def require_keys(env: HostedEnvironment) -> None:
    """Play a random episode. Refuse a success key or latents that `info` does not have, or latents
    that are no whole numbers: that they are missing would be seen late, or never."""
    seen, key = _random_info(env), env.success_key
    if key is not None and key not in seen.last and seen.episodes >= ENOUGH:
        near = hint(key, seen.last)
        raise BadInput(
            f"success_key={key!r} is not valid: in {_counted(seen.episodes)} of {env.title} the "
            f"last info has no such key{near}; {_keys(seen.last)}"
            + ("" if near else "; if it comes with a success only, let a failure say False")
        )
    for key in env.latents:
        near = hint(key, seen.found)
        if key not in seen.found and (seen.episodes >= ENOUGH or near):
            raise BadInput(
                f"latents={key!r} is not valid: in {_counted(seen.episodes)} of {env.title} info "
                f"has no such key{near}; {_keys(seen.found)}"
            )
        if key in seen.found and whole_numbers(seen.found[key]) is None:
            raise BadInput(f"latents={key!r} is not valid; info[{key!r}] is not a whole number")


def unseen_keys(env: HostedEnvironment) -> str:
    """Which of them random episodes did not show, where these are too few to refuse them."""
    key, said = env.success_key, list[str]()
    if key is None and not env.latents:
        return ""
    try:
        seen = _random_info(env)
    except (EnvironmentFailed, BadInput):
        return ""  # which is told by `require_keys`
    if not seen.episodes:
        return ""
    if key is not None and key not in seen.last:
        said.append(
            f"{env.title}: in {_counted(seen.episodes)} the last info has no {key!r}"
            f"{hint(key, seen.last)}, which is to say that one has succeeded; {_keys(seen.last)}"
        )
    if missing := [key for key in env.latents if key not in seen.found]:
        said.append(
            f"{env.title}: in {_counted(seen.episodes)} info has no {listing(missing)}, and probes "
            f"are to ask about it; {_keys(seen.found)}"
        )
    return "; ".join(said)


def _counted(episodes: int) -> str:
    return "a random episode" if episodes < 2 else f"{episodes:,} random episodes"


def _keys(found: Mapping[str, Any]) -> str:
    return f"it has {listing(found)}" if found else "it is empty"


class _RandomInfo(NamedTuple):
    """What stood in info in random episodes."""

    found: dict[str, Any]
    """At any step."""
    last: dict[str, Any]
    """At the end of an episode."""
    episodes: int
    """That were whole."""


@cache
def _random_info(env: HostedEnvironment) -> _RandomInfo:
    """Of one whole episode, and more until all that is asked for was there, or time is up."""
    latents, success = set(env.latents), {env.success_key} - {None}
    found, last, episodes = dict[str, Any](), dict[str, Any](), 0
    copy, random = Copies(replace(env, vector="sync"), 1), np.random.default_rng(0)
    began = time.perf_counter()
    with closing(copy):
        obs, info = copy.reset([0])
        parts_of(env, obs, given=env.facts is not None)
        found |= info
        while not (episodes and found.keys() >= latents and last.keys() >= success):
            if time.perf_counter() - began >= PATIENCE:
                break
            step = copy.step(random.integers(len(env.action_names), size=1))
            require_finite(env, step.reward)
            parts_of(env, step.final, given=env.facts is not None)
            found |= step.info
            if (step.terminated | step.truncated).any():
                last |= step.info
                episodes += 1
    return _RandomInfo(_unmasked(found), _unmasked(last), episodes)


def _unmasked(info: Info) -> dict[str, Any]:
    """A vector has a mask under `_key` beside the values under `key`."""
    return {key: value for key, value in info.items() if not key.startswith("_")}


def whole_numbers(found: object) -> Int[np.ndarray, " env"] | None:
    """What stands under a key of `info`, if it is a whole number for every copy."""
    try:
        values = np.asarray(found)
        whole = values.astype(np.int64)
        return whole if values.ndim == 1 and bool((whole == values).all()) else None
    except (TypeError, ValueError):
        return None


def _mode_of(vector: VectorEnv, title: str) -> AutoresetMode:
    mode = vector.metadata.get("autoreset_mode")
    next_step = mode is AutoresetMode.NEXT_STEP and not _is_gymnasiums(vector)
    if not isinstance(mode, AutoresetMode) or next_step:
        raise BadInput(
            f"the vector of {title} begins episodes in a way that is not supported "
            f"(autoreset_mode={getattr(mode, 'value', mode)!r}); metadata['autoreset_mode'] must "
            "be AutoresetMode.SAME_STEP, or DISABLED with a reset that takes a reset_mask"
        )
    return mode


def _is_gymnasiums(vector: VectorEnv) -> bool:
    """Then it resets single copies in every mode, and takes a seed for each."""
    return isinstance(vector.unwrapped, (SyncVectorEnv, AsyncVectorEnv))


def _put(obs: Batch, finals: Sequence[Batch], done: np.ndarray) -> Batch:
    """A copy of `obs` with the last observations of ended episodes in their places."""
    if isinstance(obs, Mapping):
        return {
            key: _put(part, [None if each is None else each[key] for each in finals], done)
            for key, part in obs.items()
        }
    after = np.array(obs)
    for i in np.flatnonzero(done).tolist():
        after[i] = finals[i]
    return after


def _copied(obs: Batch) -> Batch:
    if isinstance(obs, Mapping):
        return {key: _copied(part) for key, part in obs.items()}
    return np.array(obs)
