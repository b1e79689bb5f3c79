"""The exact law of MysteryPath's levels against levels that are drawn."""

from __future__ import annotations

from collections import Counter

import jax
import numpy as np
import pytest
from scipy.stats import chisquare

from clew import envs
from clew.envs.worlds.mystery_path.law import level_law

DRAWS = 20_000


@pytest.mark.parametrize("sides", [(0,), (3,)])
def test_levels_come_as_often_as_the_law_says(sides: tuple[int, ...]) -> None:
    law = level_law(3, sides)
    assert sum(law.values()) == 1
    env = envs.make("MysteryPath-Grid", size=3, origin_sides=sides)
    keys = jax.random.split(jax.random.key(7), DRAWS)
    drawn = jax.tree.map(np.asarray, jax.jit(jax.vmap(env.level))(keys))  # type: ignore[attr-defined]
    counted = Counter(
        (frozenset(np.flatnonzero(path).tolist()), int(origin), int(goal))
        for path, origin, goal in zip(*drawn, strict=True)
    )
    assert counted.keys() <= law.keys()
    # rare ones together, so that every count is expected to be large enough
    often = [level for level, p in law.items() if p * DRAWS >= 10]
    rest = DRAWS - sum(counted[level] for level in often)
    observed = [*(counted[level] for level in often), rest]
    expected = [float(law[level] * DRAWS) for level in often]
    expected.append(DRAWS - sum(expected))
    assert chisquare(observed, expected).pvalue > 1e-3
    # and they are far from equally likely
    assert sum(abs(p - 1 / len(law)) for p in law.values()) / 2 > 0.2
