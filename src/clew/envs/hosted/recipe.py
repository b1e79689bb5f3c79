"""How copies of a Gymnasium environment are made. No jax: other processes import this."""

from __future__ import annotations

import importlib
import inspect
import multiprocessing
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from operator import attrgetter
from typing import Any, SupportsFloat, TypeVar

import gymnasium
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.async_vector_env import _async_worker
from gymnasium.wrappers import TimeLimit

from clew.envs.hosted.host import NoTimeLimit, host
from clew.envs.hosted.spaces import misshapen
from clew.validate import BadInput, error_place, error_words, hint

T = TypeVar("T")
GYMNASIUM = "gymnasium:"
LIMITS = ("_max_episode_steps", "max_episode_steps", "max_steps", "max_episode_length")
"""Attributes by which environments without a registered time limit say what theirs is; the first is
that of Gymnasium's `TimeLimit`."""
NOT_ITS_OWN = {"", "gymnasium", "clew", *sys.stdlib_module_names}
"""Packages whose code is no environment's own."""
TAKEN_BY = ("clew", "gymnasium")
"""Packages that take apart what an environment returns."""
Env = gymnasium.Env[Any, Any]
Info = Mapping[str, Any]
"""What an environment says beside an observation: whatever its authors like."""


class EnvironmentFailed(RuntimeError):  # noqa: N818 (it is what happened)
    """An environment raised an error of its own."""


@dataclass(frozen=True)
class Recipe:
    """A name, and all that decides what a copy does; it can be sent to another process."""

    name: str
    """`gymnasium:ID`, or `module:function` of a function that returns an environment."""
    options: tuple[tuple[str, object], ...] = ()
    """Keyword arguments of `gymnasium.make`, or of the function."""
    wrappers: tuple[str, ...] = ()
    """Each `module:wrapper`, applied in this order."""
    max_episode_steps: int | None = None
    """The time limit, if it is not the environment's own."""

    @property
    def makes_vectors(self) -> bool:
        """Whether it is a function with an argument `num_envs`, which returns a vector."""
        if self.name.startswith(GYMNASIUM):
            return False
        return "num_envs" in inspect.signature(imported(self.name)).parameters

    def __call__(self, render_mode: str | None = None) -> Env:
        """One copy."""
        options = dict(self.options) | ({} if render_mode is None else {"render_mode": render_mode})
        if self.name.startswith(GYMNASIUM):
            env = self._registered(options)
        else:
            env = _called(self.name, imported(self.name), **options)
            if not isinstance(env, gymnasium.Env):
                raise BadInput(
                    f"{self.name} returned {type(env).__name__}, and must return a gymnasium.Env "
                    "(or, if it has an argument num_envs, a gymnasium.vector.VectorEnv)"
                )
            if self.max_episode_steps is not None:
                env = TimeLimit(env, self.max_episode_steps)
        for wrapper in self.wrappers:
            env = _called(wrapper, imported(wrapper), env)
        return env

    def vector(
        self,
        n: int,
        kind: str = "sync",
        mode: AutoresetMode = AutoresetMode.DISABLED,
        once: bool = False,
        render_mode: str | None = None,
    ) -> VectorEnv:
        """`n` copies; with `once`, each plays one episode and then stands still."""
        if self.makes_vectors:
            made = _called(self.name, imported(self.name), **dict(self.options), num_envs=n)
            if not isinstance(made, VectorEnv) or made.num_envs != n:
                raise BadInput(
                    f"{self.name} has an argument num_envs, so it must return a "
                    f"gymnasium.vector.VectorEnv of num_envs={n} copies"
                )
            return made
        one = _Copy(self, once, render_mode)
        if kind == "sync":
            # one buffer for all observations, which whoever steps the vector copies
            return SyncVectorEnv([one] * n, copy=False, autoreset_mode=mode)
        # a worker of Clew's own may not have children unless it says so
        multiprocessing.current_process().daemon = False
        # not a fork, which jax's threads would not survive
        with _deaf_to_interrupts():
            return AsyncVectorEnv(
                [one] * n, copy=False, context="spawn", autoreset_mode=mode, worker=_run_copy
            )

    def limited(self, env: Env | VectorEnv) -> Recipe:
        """With a time limit, if `env`, a copy, says only by an attribute what its own is."""
        one: Env = getattr(env, "envs", [env])[0]  # of a vector
        if self.max_episode_steps is None and (one.spec is None or not one.spec.max_episode_steps):
            for name in LIMITS:
                limit = _attribute(one, name)
                if isinstance(limit, int) and limit > 0:
                    return replace(self, max_episode_steps=limit)
            raise NoTimeLimit(
                f"{self.name} has no time limit, and evaluations play to the end of an episode; "
                "state one with the option max_episode_steps, such as max_episode_steps=500"
            )
        return self

    def modules(self, env: Env | VectorEnv) -> tuple[str, ...]:
        """Modules of the function, of `env`, a copy, of its base classes and of all that wraps it.

        Not Gymnasium's nor Python's own.
        """
        targets = [*self.wrappers] + [self.name] * (not self.name.startswith(GYMNASIUM))
        found = {target.partition(":")[0] for target in targets}
        found |= {str(getattr(imported(target), "__module__", "")) for target in targets}
        one: object = getattr(env, "envs", [env])[0]
        while one is not None:
            found |= {kind.__module__ for kind in type(one).__mro__}
            one = getattr(one, "env", None)
        return tuple(sorted(m for m in found if m.partition(".")[0] not in NOT_ITS_OWN))

    def _registered(self, options: dict[str, object]) -> Env:
        name = self.name.removeprefix(GYMNASIUM)
        if not name:
            raise BadInput(f"{self.name!r} names no environment; write {GYMNASIUM}CartPole-v1")
        try:
            return gymnasium.make(name, max_episode_steps=self.max_episode_steps, **options)  # type: ignore[arg-type]
        except (gymnasium.error.UnregisteredEnv, gymnasium.error.DeprecatedEnv) as error:
            near = hint(name.rpartition(":")[2], gymnasium.registry)
            said = " ".join(str(error).split()).rstrip(".")
            raise BadInput(
                f"Gymnasium has no environment {name!r} ({said}){near}; if a package registers it "
                f"when it is imported, write {GYMNASIUM}PACKAGE:{name.rpartition(':')[2]}"
            ) from None
        except (Exception, SystemExit) as error:
            raise _not_made(self.name, error) from error


class Checked(gymnasium.Wrapper):
    """Says in words what a vector could not take; its first episode is looked at, and no more."""

    _looks = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[object, dict[str, object]]:
        """Begin an episode."""
        try:
            obs, info = self.env.reset(seed=seed, options=options)
        except (TypeError, ValueError) as error:
            _say_what_came(error, "reset", "2 (observation, info)")
            raise
        self._look(obs)
        return obs, info

    def step(self, action: object) -> tuple[object, SupportsFloat, bool, bool, dict[str, object]]:
        """Take a step."""
        try:
            obs, reward, terminated, truncated, info = self.env.step(action)
        except (TypeError, ValueError) as error:
            _say_what_came(error, "step", "5 (observation, reward, terminated, truncated, info)")
            raise
        if self._looks:
            self._look(obs)
            self._looks = not (terminated or truncated)
        return obs, reward, terminated, truncated, info

    def _look(self, obs: object) -> None:
        if self._looks and (wrong := misshapen(self.observation_space, obs)):
            raise EnvironmentFailed(wrong)


def _say_what_came(error: BaseException, what: str, wanted: str) -> None:
    """Of an environment with another interface: of its values, not of an error in its own code."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    taken_apart = frame.f_globals["__name__"].partition(".")[0] in TAKEN_BY
    if not taken_apart or not re.search("unpack|iteration over a 0-d", str(error)):
        return
    count = re.search(r"got (\d+)", str(error))
    came = f"{count[1]} values" if count else "something else"
    raise EnvironmentFailed(f"{what} returned {came}; gymnasium's returns {wanted}") from error


class OneEpisode(gymnasium.Wrapper):
    """After the end of its episode it stands still, until it is reset with a seed.

    Its vector resets without one. So copies whose episode was short cost nothing more.
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self._last: object = None
        self._ended = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[object, dict[str, object]]:
        """Begin an episode, or with no seed stand still."""
        if seed is None and self._ended:
            return self._last, {}
        self._ended = False
        return super().reset(seed=seed, options=options)

    def step(self, action: object) -> tuple[object, SupportsFloat, bool, bool, dict[str, object]]:
        """Take a step, unless the episode has ended."""
        if self._ended:
            return self._last, 0.0, False, False, {}
        obs, reward, terminated, truncated, info = super().step(action)
        self._last, self._ended = obs, bool(terminated or truncated)
        return obs, reward, terminated, truncated, info


class InWords(gymnasium.Wrapper):
    """In a process of its own: what is raised there is told in words, as its traceback is lost."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[object, dict[str, object]]:
        """Begin an episode."""
        with _in_words():
            return super().reset(seed=seed, options=options)

    def step(self, action: object) -> tuple[object, SupportsFloat, bool, bool, dict[str, object]]:
        """Take a step."""
        with _in_words():
            return super().step(action)


@dataclass(frozen=True)
class _Copy:
    """What makes one copy of a vector, there or in another process."""

    recipe: Recipe
    once: bool
    render_mode: str | None
    process: int = field(default_factory=os.getpid)
    """That of the vector."""

    def __call__(self) -> Env:
        made = Checked(self.recipe(self.render_mode))
        made = OneEpisode(made) if self.once else made
        return made if os.getpid() == self.process else InWords(made)


def _run_copy(*arguments: Any) -> None:
    """All that the process of a copy does. It ends, without a word, when its vector is gone."""
    with suppress(ConnectionError, EOFError):
        _async_worker(*arguments)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that are started meanwhile do not hear Ctrl-C, which goes to all in a terminal.

    Clew hears it, and closes them when it is done with them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would let this thread hear again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGUSR1})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def explained(error: BaseException) -> str:
    """What an environment has raised, and where; what a copy has told in words is kept."""
    if isinstance(error, EnvironmentFailed):
        return str(error)
    return f"{error_words(error)}{error_place(error)}"


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except (Exception, SystemExit) as error:
        raise EnvironmentFailed(explained(error)) from error


def imported(target: str) -> Callable[..., Any]:
    """What `"module:attribute"` names; the module is installed, or in the current folder."""
    module, _, attribute = target.partition(":")
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        found = attrgetter(attribute)(importlib.import_module(module))
    except (Exception, SystemExit) as error:
        raise BadInput(
            f"{target!r} cannot be imported ({error_words(error)}); write {_importable(target)}"
        ) from error
    if not callable(found):
        raise BadInput(
            f"{target!r} is not a function; name one that makes a gymnasium.Env and returns it"
        )
    return found


def _importable(target: str) -> str:
    """How what was meant is written: a file is no module."""
    module, _, attribute = target.partition(":")
    folder, file = os.path.split(module)
    stem = file.removesuffix(".py")
    if stem == file:
        meant = "module:function"
    elif folder:
        return f"{stem}:{attribute or 'function'} --module {module}"
    else:
        meant = f"{stem}:{attribute or 'function'}"
    return f"{meant}, with a module that is installed or in this folder"


def registered_limit(identifier: str) -> int | None:
    """The time limit of one of Gymnasium's, as it is registered."""
    spec = gymnasium.registry.get(identifier)
    return None if spec is None else spec.max_episode_steps


def _attribute(env: object, name: str) -> object:
    """Of an environment, or of what it wraps."""
    while env is not None:
        found = inspect.getattr_static(env, name, None)  # a wrapper would hand the question on
        if found is not None:
            return getattr(env, name) if isinstance(found, property) else found
        env = getattr(env, "env", None)
    return None


def _called(name: str, function: Callable[..., T], /, *args: object, **options: object) -> T:
    try:
        return function(*args, **options)
    except BadInput:
        raise
    except (Exception, SystemExit) as error:
        raise _not_made(name, error, inspect.signature(function).parameters) from error


def _not_made(name: str, error: BaseException, arguments: Iterable[str] = ()) -> BadInput:
    """An argument that it needs or does not know is an option."""
    way_out = "; environment_options are its arguments" if isinstance(error, TypeError) else ""
    if unknown := re.search(r"unexpected keyword argument '(\w+)'", str(error)):
        own = set(inspect.signature(host).parameters) - {"name", "options"}
        way_out += hint(unknown[1], {*arguments, *own})
    return BadInput(f"{name} cannot be made ({error_words(error)}){way_out}")
