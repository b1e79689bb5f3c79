"""Every outcome of a function that draws from a random generator, with its probability.

The function runs again and again with a generator that answers from a script. Where the script
ends, the next draw is a fork: one outcome is taken, and the others are put off for later runs.
Whole numbers, choices and orders are finite; a uniform number is only ever compared with other
numbers, and each comparison is a fork. Whatever else is drawn cannot be enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any, NoReturn, TypeVar

import numpy as np

from clew.machines.exact.numbers import rational

T = TypeVar("T")
OUTCOMES = 20_000
"""Of one function, at most."""
ORDERED = 6
"""Things, at most, whose orders are enumerated."""


class CannotEnumerateError(Exception):
    """A draw that has no finite list of outcomes, or too many of them."""


def outcomes(run: Callable[[np.random.Generator], T]) -> list[tuple[T, Fraction]]:
    """What `run` returns for every way its draws can fall, and how likely each way is."""
    found: list[tuple[T, Fraction]] = []
    scripts: list[list[int]] = [[]]
    while scripts:
        if len(found) + len(scripts) > OUTCOMES:
            raise CannotEnumerateError(f"there are more than {OUTCOMES:,} outcomes")
        oracle = Oracle(scripts.pop())
        found.append((run(oracle), oracle.probability))
        scripts += oracle.put_off
    return found


class Oracle(np.random.Generator):
    """A generator that follows a script of outcomes, and takes the first one where it ends."""

    def __init__(self, script: Sequence[int] = ()):
        super().__init__(np.random.PCG64(0))
        self.script, self.done = list(script), 0
        self.probability = Fraction(1)
        self.put_off: list[list[int]] = []

    def fork(self, chances: Sequence[Fraction]) -> int:
        """The number of the next outcome. Impossible ones are never taken."""
        if self.done == len(self.script):
            first, *others = [i for i, chance in enumerate(chances) if chance]
            self.put_off += [[*self.script, other] for other in others]
            self.script.append(first)
        chosen = self.script[self.done]
        self.done += 1
        self.probability *= chances[chosen]
        return chosen

    def integers(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = int, endpoint: Any = False
    ) -> Any:
        """A whole number."""
        first, last = (0, low) if high is None else (low, high)
        count = int(last) - int(first) + bool(endpoint)
        if count < 1:
            raise ValueError("low >= high")
        if count > OUTCOMES:
            raise CannotEnumerateError(f"a whole number is drawn from {count:,}")
        one = lambda: int(first) + self.fork([Fraction(1, count)] * count)  # noqa: E731
        return np.int64(one()) if size is None else self._array(one, size)

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: Any = True,
        p: Any = None,
        axis: Any = 0,
        shuffle: Any = True,
    ) -> Any:
        """One of some things; several only with replacement."""
        things: Any = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        if axis or (size is not None and not replace and math.prod(np.atleast_1d(size)) > 1):
            raise CannotEnumerateError("several things are chosen without replacement")
        chances = [Fraction(1, len(things))] * len(things) if p is None else _law(p)
        one = lambda: things[self.fork(chances)]  # noqa: E731
        return one() if size is None else self._array(one, size)

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        """A number between 0 and 1 that may only be compared."""
        if size is not None:
            raise CannotEnumerateError("many uniform numbers are drawn at once")
        return Uniform(self)

    def permutation(self, x: Any, axis: Any = 0) -> Any:
        """An order of a few things."""
        things = np.arange(x) if np.ndim(x) == 0 else np.array(x)
        return things[self._order(len(things))]

    def shuffle(self, x: Any, axis: Any = 0) -> None:
        """A few things, put into an order."""
        things = list(x)
        for place, index in enumerate(self._order(len(things))):
            x[place] = things[index]

    def _order(self, n: int) -> list[int]:
        if n > ORDERED:
            raise CannotEnumerateError(f"{n} things are put into a random order")
        orders = list(permutations(range(n)))
        return list(orders[self.fork([Fraction(1, len(orders))] * len(orders))])

    def _array(self, one: Callable[[], Any], size: Any) -> np.ndarray:
        shape = tuple(np.atleast_1d(size))
        return np.array([one() for _ in range(math.prod(shape))]).reshape(shape)

    def __getattribute__(self, name: str) -> Any:
        if name in CONTINUOUS:
            raise CannotEnumerateError(f"{name!r} is drawn, which has no finite list of outcomes")
        return super().__getattribute__(name)


ANSWERED = ("integers", "choice", "random", "permutation", "shuffle", "bit_generator", "spawn")
CONTINUOUS = {name for name in dir(np.random.Generator) if name[0] != "_"} - set(ANSWERED)


class Uniform:
    """A number of which only an interval is known; a comparison narrows it down."""

    __array_ufunc__ = None  # comparisons with arrays are made here, one entry after the other

    def __init__(self, oracle: Oracle):
        self.oracle, self.low, self.high = oracle, Fraction(0), Fraction(1)

    def _below(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return np.array([self._below(each) for each in other.ravel()]).reshape(other.shape)
        cut = min(max(rational("a threshold", other), self.low), self.high)
        share = (cut - self.low) / (self.high - self.low)
        below = self.oracle.fork([share, 1 - share]) == 0
        self.low, self.high = (self.low, cut) if below else (cut, self.high)
        return below

    def __lt__(self, other: object) -> Any:
        return self._below(other)

    __le__ = __lt__  # it equals a given number with probability 0

    def __gt__(self, other: object) -> Any:
        return np.logical_not(self._below(other))

    __ge__ = __gt__

    def _refuse(self, *_: object) -> NoReturn:
        raise CannotEnumerateError("a uniform number is used otherwise than compared")

    __float__ = __int__ = __bool__ = __add__ = __radd__ = __sub__ = __rsub__ = _refuse
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __neg__ = __array__ = _refuse
    __eq__ = __ne__ = __hash__ = __round__ = __index__ = __floordiv__ = __mod__ = _refuse  # type: ignore[assignment]


def _law(p: Any) -> list[Fraction]:
    """Probabilities given as floats; what they leave of one is shared out."""
    exact = [rational("a probability", float(value)) for value in np.asarray(p).ravel()]
    total = sum(exact, Fraction(0))
    return [value / total for value in exact]
