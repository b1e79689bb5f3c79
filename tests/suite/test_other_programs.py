"""What was begun in one program goes on in another: the bonuses of a suite change, or its plan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clew.learner import to_arrays
from clew.store import Store, merge
from clew.suite import PackSpec, Suite, plan
from clew.suite.forecast import forecast
from clew.suite.packs import group_by_program, joined
from clew.suite.planning import existing_plan, retry_failed
from clew.suite.resuming import newest_checkpoints
from clew.suite.rows import BONUS, DELIVERY, STATE, Row, fitted, layout
from clew.suite.spec import bonus_name
from tests.suite.declared import PERIODS
from tests.suite.test_resuming import after, periods
from tests.suite.test_sharing import ALL, SMALL, OnGpu, bonuses_of, names_of, three
from tests.suite.trial import trained

FEW = ["none", "e3b"]


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> OnGpu:
    return OnGpu(monkeypatch)


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store as undisturbed work on a CPU leaves it."""
    root = tmp_path_factory.mktemp("apart")
    assert trained(three(), root)[0].left == 0
    return root


def same_runs(suite: Suite, root: Path, other: Path) -> None:
    """But for rounding, what was trained here is what was trained there."""
    for run in suite.runs():
        mine, theirs = Store(root).run(run.config), Store(other).run(run.config)
        ours, wanted = mine.diagnostics(), theirs.diagnostics()
        for name in ("reward", "bonus", "normalised", "delivered"):
            np.testing.assert_allclose(ours[name], wanted[name], rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize("first", [FEW, ["e3b", "noveld"]], ids="-".join)
def test_a_bonus_is_added(on_gpu: OnGpu, apart: Path, tmp_path: Path, first: list[str]) -> None:
    """To a program with one, or to a joint one."""
    few = three(bonuses=first, bonus_options={name: SMALL for name in first if name != "none"})
    on_gpu(few, tmp_path)
    trained(few, tmp_path, **after(4))
    packs = on_gpu(three(), tmp_path)
    assert {(*names_of(pack), len(pack.runs)) for pack in packs} == {(*ALL, 2), (*ALL, 4)}
    _, steps = trained(three(), tmp_path)
    assert periods(steps) == 4 * (PERIODS - 4) + 2 * PERIODS
    same_runs(three(), tmp_path, apart)
    assert not list(newest_checkpoints(Store(tmp_path)))


def test_a_bonus_is_removed(on_gpu: OnGpu, apart: Path, tmp_path: Path) -> None:
    on_gpu(three(), tmp_path)
    trained(three(), tmp_path, **after(4))
    few = three(bonuses=FEW)
    assert bonuses_of(on_gpu(few, tmp_path)) == [["e3b"]]
    _, steps = trained(few, tmp_path)
    assert periods(steps) == 4 * (PERIODS - 4)
    same_runs(few, tmp_path, apart)


def test_a_plan_of_a_gpu_is_gone_on_with_by_one_of_a_cpu(
    on_gpu: OnGpu, apart: Path, tmp_path: Path
) -> None:
    on_gpu(three(), tmp_path)
    trained(three(), tmp_path, **after(4))
    more = three(seeds=3)
    packs = plan(more, Store(tmp_path), 8).packs
    assert {*map(tuple, bonuses_of(packs))} == {("e3b",), ("noveld",)}
    _, steps = trained(more, tmp_path)
    assert periods(steps) == 6 * (PERIODS - 4) + 3 * PERIODS
    same_runs(three(), tmp_path, apart)


def test_a_joint_store_is_merged_into_one_with_programs_apart(
    on_gpu: OnGpu, apart: Path, tmp_path: Path
) -> None:
    joint, here = tmp_path / "joint", tmp_path / "here"
    on_gpu(three(), joint)
    trained(three(), joint, **after(4))
    trained(three(), here, **after(1))
    merge(Store(here), Store(joint))
    _, steps = trained(three(), here)
    assert periods(steps) == 6 * (PERIODS - 4)
    same_runs(three(), here, apart)
    assert not list(newest_checkpoints(Store(here)))


def test_packs_without_a_bonus_are_named_as_ever(tmp_path: Path) -> None:
    """By their runs; so what was begun in them is found."""
    store = Store(tmp_path)
    for pack in plan(three(), store, 2).packs:
        assert pack.folder(store).name == store.pack([run.config for run in pack.runs]).name
    trained(three(), tmp_path, **after(2))
    assert forecast(three(), store).total.steps < forecast(three(), None).total.steps
    retry_failed(three(), store, 4)
    made = existing_plan(three(), store)
    assert made is not None
    assert [len(pack.runs) for pack in made.packs] == [2, 2, 2]
    assert list(newest_checkpoints(store))


@pytest.mark.parametrize("damaged", [False, True])
def test_the_same_pack_in_another_program(apart: Path, tmp_path: Path, damaged: bool) -> None:
    """Runs without a bonus: begun alone, then planned in E3B's program. What is converted stays."""
    alone, few = three(bonuses=["none"]), three(bonuses=FEW)
    trained(alone, tmp_path, **after(3))
    (before,) = newest_checkpoints(Store(tmp_path))
    assert before.name == plan(few, Store(tmp_path), 2).packs[0].folder(Store(tmp_path)).name
    begun = 3
    if damaged:
        data = bytearray(before.path.read_bytes())
        data[len(data) // 2] ^= 1
        before.path.write_bytes(bytes(data))
        begun = 2
    outcome, steps = trained(few, tmp_path)
    assert outcome.left == 0
    assert periods(steps) == 4 * PERIODS - 2 * begun
    same_runs(few, tmp_path, apart)


def test_in_its_own_program_a_run_goes_on_byte_for_byte(on_gpu: OnGpu, tmp_path: Path) -> None:
    """A row that is taken to a joint program and back has what the run needs, unchanged."""
    groups = group_by_program(three())
    ((bonuses, runs),) = joined(groups, [[0, 1]])
    together = PackSpec(tuple(runs), bonuses)
    for run in runs[::2]:
        single, joint = PackSpec((run,), (run.own_bonus,)), together._replace(runs=(run,))
        whole = to_arrays(single.pack.advance(single.pack.begin())[0])
        row = {STATE + name: array[0] for name, array in whole.items()}
        (there,) = fitted(joint, [Row(row, False)])
        assert {name: (array.shape, array.dtype) for name, array in there.items()} == layout(
            joint.program
        )
        chosen = f"{BONUS}/chosen/"
        assert [name for name in there if name.startswith(chosen) and there[name]] == [
            chosen + bonus_name(run.own_bonus)
        ]
        (back,) = fitted(single, [Row(there, True)])
        assert back.keys() == row.keys()
        for name, array in row.items():
            if run.bonus != "none" or not name.startswith(DELIVERY):
                np.testing.assert_array_equal(back[name], array)
