"""The dictation abstraction of TinyReproduce: k tokens are shown, then queried in reverse."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, Literal

from clew.machines.gallery import register
from clew.machines.pomdp import Pomdp
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
    gamma: Any = "99/100",
) -> Pomdp:
    """States are (sequence, step): shown up to `step` < k, then `step` − k tokens were right.

    Play, wrong tokens and the end all show the one observation `play`. The dense variant pays
    1/k for each right token, the sparse one τ/k when the episode ends after τ right tokens. With
    `positions`, a token is shown together with its place in the sequence, as a clock would.
    """
    whole_number("k", k, 1, 8)
    whole_number("v", v, 2, 8)
    one_of("reward", reward, ("dense", "sparse"))
    one_of("positions", positions, (False, True))
    tokens = [str(token) for token in range(v)]
    sequences = ["".join(tokens[i] for i in some) for some in product(range(v), repeat=k)]
    states = [f"{s}@{step}" for step in range(2 * k) for s in sequences]

    def shown(token: str, place: int) -> str:
        return f"{token} at {place}" if positions else token

    def split(state: str) -> tuple[str, int]:
        sequence, _, step = state.partition("@")
        return sequence, int(step)

    def target(state: str) -> str:
        sequence, step = split(state)
        return sequence[2 * k - 1 - step]

    def p(state: str, action: str) -> str:
        if state == END:
            return END
        sequence, step = split(state)
        if step >= k and (action != target(state) or step == 2 * k - 1):
            return END
        return f"{sequence}@{step + 1}"

    def omega(state: str) -> str:
        if state == END or split(state)[1] >= k:
            return PLAY
        sequence, step = split(state)
        return shown(sequence[step], step)

    def r(state: str, action: str, after: str) -> Fraction:
        if state == END or split(state)[1] < k:
            return Fraction(0)
        right = action == target(state)
        if reward == "dense":
            return Fraction(int(right), k)
        return Fraction(split(state)[1] - k + right, k) if after == END else Fraction(0)

    places = range(k) if positions else range(1)
    return Pomdp.build(
        states=[*states, END],
        actions=tokens,
        observations=[*(shown(token, place) for place in places for token in tokens), PLAY],
        p=p,
        omega=omega,
        r=r,
        gamma=gamma,
        mu={f"{s}@0": Fraction(1, len(sequences)) for s in sequences},
        terminal=[END],
        variables={
            "sequence": lambda s: END if s == END else split(s)[0],
            "time": lambda s: END if s == END else split(s)[1],
        },
        name=f"dictation, k={k}, v={v}, {reward}{', positions shown' if positions else ''}",
    )
