"""Runs with different bonuses in one program: each is the run that it would be alone."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import bonuses
from clew.bonuses import OneOf
from clew.learner import Knobs, Pack, Program, from_arrays, to_arrays
from clew.learner.execution import Vmapped
from clew.validate import BadInput
from tests.learner.conftest import close, one, pack_of, small, tiny

NAMES = ("none", "e3b", "noveld")
SEED = 5
OPTIONS: dict[str, Any] = {"hidden": 8, "features": 4}
PARTS = {name: bonuses.make(name, **(OPTIONS if name != "none" else {})) for name in NAMES}


@pytest.fixture(scope="module")
def pack() -> Pack:
    """Vmapped, as on an accelerator."""
    program = Program.of(tiny(), "Memoryless", OneOf.of(PARTS), small())
    runs = [Pack.single(program, SEED, "dense", Knobs(), name) for name in NAMES]
    return dataclasses.replace(Pack.join(runs), executor=Vmapped())


def trained(pack: Pack, state: Any = None, periods: int = 2) -> tuple[Any, Any]:
    """Its arrays, and what was recorded last."""
    state, record = pack.begin() if state is None else state, None
    for _ in range(periods):
        state, record = pack.advance(state)
    return to_arrays(state), jax.device_get(record)


@pytest.fixture(scope="module")
def together(pack: Pack) -> tuple[Any, Any]:
    return trained(pack)


@pytest.mark.parametrize("number", range(3), ids=NAMES)
def test_a_run_is_as_in_the_program_of_its_own_bonus(
    together: tuple[Any, Any], number: int
) -> None:
    """Up to rounding: agent, records, and its own bonus's networks."""
    name = NAMES[number]
    alone, record = trained(pack_of("Memoryless", PARTS[name], seeds=(SEED,)))
    arrays, records = together
    close(one(record), one(records, number), 1e-3)
    for path, array in alone.items():
        inside = path.replace("delivery/state/", f"delivery/state/states/{name}/")
        mine = arrays[inside][number]
        np.testing.assert_allclose(mine, array[0], rtol=1e-3, atol=1e-4, err_msg=path)
    paid = records.rollouts
    for each in (paid.bonus, paid.normalised, paid.delivered):
        assert (each[number] > 0).all() == (name != "none")


def test_which_bonus_a_run_has_does_not_depend_on_its_company(
    pack: Pack, together: tuple[Any, Any]
) -> None:
    order = jnp.array([2, 0, 1])
    turned = dataclasses.replace(pack, runs=jax.tree.map(lambda x: x[order], pack.runs))
    arrays, records = trained(turned)
    close(records, jax.tree.map(lambda x: x[np.asarray(order)], together[1]), 1e-4)
    for name, array in arrays.items():
        want = together[0][name][np.asarray(order)]
        np.testing.assert_allclose(array, want, rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_checkpoint_knows_the_bonus(pack: Pack, together: tuple[Any, Any]) -> None:
    """Restored in a pack that says nothing of bonuses, every run keeps its own."""
    first, _ = trained(pack, periods=1)
    nothing_said = pack.runs._replace(which_bonus=jnp.zeros(3, jnp.int32))
    late, record = trained(
        dataclasses.replace(pack, runs=nothing_said), from_arrays(pack, first), periods=1
    )
    for mine, wanted in zip(
        jax.tree.leaves((late, record)), jax.tree.leaves(together), strict=True
    ):
        np.testing.assert_array_equal(mine, wanted)


def test_a_program_with_one_bonus_has_no_choice() -> None:
    program = Program.of(tiny(), "Memoryless", "e3b", small())
    with pytest.raises(BadInput, match="bonus='noveld' is not valid; the program has only one"):
        Pack.single(program, 0, "dense", Knobs(), "noveld")
