"""The dictation abstraction of TinyReproduce: k tokens are shown, then queried in reverse."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal

from clew.envs.enumeration import refuse_many
from clew.machines.exact.numbers import NumberLike
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.gallery import register
from clew.validate import one_of, whole_number

END = "end"
PLAY = "play"


@register("Dictation-dense", reward="dense")
@register("Dictation-sparse", reward="sparse")
def dictation(
    k: int = 2,
    v: int = 2,
    reward: Literal["dense", "sparse"] = "sparse",
    positions: bool = False,
    gamma: NumberLike = "99/100",
) -> Pomdp:
    """Play, wrong tokens and the end all show the one observation `play`.

    The dense variant pays 1/k for each right token, the sparse one τ/k when the episode ends after
    τ right tokens. With `positions`, a token is shown together with its place in the sequence.
    """
    whole_number("k", k, 1, 8)
    whole_number("v", v, 2, 8)
    one_of("reward", reward, ("dense", "sparse"))
    one_of("positions", positions, (False, True))
    count = 2 * k * v**k + 1
    refuse_many(count, f"{v}^{k} sequences of {2 * k} steps make {count:,} states")
    rules = _Rules(k, reward, positions)
    tokens = [str(token) for token in range(v)]
    sequences = ["".join(some) for some in product(tokens, repeat=k)]
    places = range(k) if positions else range(1)
    return Pomdp.build(
        states=[*(f"{s}@{step}" for step in range(2 * k) for s in sequences), END],
        actions=tokens,
        observations=[*(rules.shown(t, place) for place in places for t in tokens), PLAY],
        p=rules.p,
        omega=rules.omega,
        r=rules.r,
        gamma=gamma,
        mu={f"{s}@0": Fraction(1, len(sequences)) for s in sequences},
        terminal=[END],
        variables={
            "sequence": lambda s: _split(s)[0],
            "time": lambda s: END if s == END else _split(s)[1],
        },
        name=f"dictation, k={k}, v={v}, {reward}{', positions shown' if positions else ''}",
    )


@dataclass(frozen=True)
class _Rules:
    """States are sequence@step: shown up to `step` < k, then `step` − k tokens were right."""

    k: int
    reward: str
    positions: bool

    def shown(self, token: str, place: int) -> str:
        return f"{token} at {place}" if self.positions else token

    def target(self, state: str) -> str | None:
        """The token that is queried; None in the watch phase and after the end."""
        sequence, step = _split(state)
        return None if state == END or step < self.k else sequence[2 * self.k - 1 - step]

    def p(self, state: str, action: str) -> str:
        sequence, step = _split(state)
        wrong = self.target(state) not in (None, action)
        if state == END or wrong or step == 2 * self.k - 1:
            return END
        return f"{sequence}@{step + 1}"

    def omega(self, state: str) -> str:
        sequence, step = _split(state)
        return PLAY if state == END or step >= self.k else self.shown(sequence[step], step)

    def r(self, state: str, action: str, after: str) -> Fraction:
        target, step = self.target(state), _split(state)[1]
        if target is None:
            return Fraction(0)
        if self.reward == "dense":
            return Fraction(int(action == target), self.k)
        return Fraction(step - self.k + (action == target), self.k) if after == END else Fraction(0)


def _split(state: str) -> tuple[str, int]:
    sequence, _, step = state.partition("@")
    return sequence, int(step or 0)
