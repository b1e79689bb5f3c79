"""From runs to packs: every run once, one program a pack, and one plan for all workers."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.store import Store
from clew.suite import PackSpec, RunSpec, Suite, find_suite, plan
from clew.suite.packs import group_by_program
from clew.suite.planning import MOST, bytes_of, fitting_size, retry_failed
from clew.suite.resuming import SPENT
from clew.suite.spec import NONE
from clew.suite.toml import parse_suite
from clew.validate import BadInput
from tests.store.things import outcome
from tests.suite.declared import rich, tiny

SUITES: dict[str, Suite] = {
    "rich": parse_suite(rich(), "rich"),
    "apart": dataclasses.replace(parse_suite(rich(), "rich"), share=False),
    "demo": find_suite("demo"),
}


@pytest.mark.parametrize("name", SUITES)
@given(size=st.integers(1, 40))
@settings(max_examples=10)
def test_every_run_is_in_one_pack(tmp_path_factory: Any, name: str, size: int) -> None:
    suite = SUITES[name]
    packs = plan(suite, Store(tmp_path_factory.mktemp("store")), size).packs
    runs = [run for each in packs for run in each.runs]
    assert len(runs) == len(set(runs)) == len(suite.runs())
    assert set(runs) == set(suite.runs())
    assert max(len(each.runs) for each in packs) <= size
    # no more packs than groups and size ask for
    assert len(packs) == sum(-(-len(group) // size) for _, group in group_by_program(suite))


@pytest.mark.parametrize("name", SUITES)
def test_a_pack_is_one_program(tmp_path: Path, name: str) -> None:
    for each in plan(SUITES[name], Store(tmp_path), 5).packs:
        assert len(each.pack) == len(each.runs)  # joining refuses two programs
        assert len({run.steps for run in each.runs}) == 1
        assert each.periods == each.runs[0].steps // each.runs[0].settings.period
        for run in each.runs:
            assert run.bonus in ("none", each.bonuses[0][0])
            if run.bonus != "none":
                assert run.program() == each.program


def test_sharing_saves_programs() -> None:
    demo = find_suite("demo")
    apart = dataclasses.replace(demo, share=False)
    assert len(group_by_program(demo)) == 8
    assert len(group_by_program(apart)) == 16
    assert all(bonus[0] == "e3b" for (bonus,), _ in group_by_program(demo))


def test_none_has_its_own_program_where_there_is_no_other() -> None:
    suite = dataclasses.replace(tiny(), share=True)
    assert [bonuses for bonuses, _ in group_by_program(suite)] == [(NONE,)]


def test_the_first_worker_decides(tmp_path: Path) -> None:
    suite = tiny(seeds=7)
    first = plan(suite, Store(tmp_path), 3).packs
    assert [len(each.runs) for each in first] == [3, 3, 1]
    assert plan(suite, Store(tmp_path), 5).packs == first
    assert plan(suite, Store(tmp_path)).packs == first
    # another suite is another plan
    assert len(plan(tiny(seeds=8), Store(tmp_path), 8).packs) == 1


@pytest.mark.parametrize("size", [0, -1])
def test_no_pack_is_empty(tmp_path: Path, size: int) -> None:
    with pytest.raises(BadInput, match=f"pack_size={size}"):
        plan(tiny(), Store(tmp_path), size)


def test_a_suite_without_blocks_is_refused() -> None:
    with pytest.raises(BadInput, match="at least one block"):
        Suite(name="empty", blocks=[])


def test_on_a_cpu_a_pack_is_a_run_a_core(tmp_path: Path) -> None:
    assert fitting_size((NONE,), tiny().runs()) == os.cpu_count()
    sizes = {len(each.runs) for each in plan(tiny(seeds=9), Store(tmp_path)).packs}
    assert max(sizes) == os.cpu_count()


class Gpu:
    platform = "gpu"

    def __init__(self, gigabytes: float | None) -> None:
        self.gigabytes = gigabytes

    def memory_stats(self) -> dict[str, int] | None:
        return None if self.gigabytes is None else {"bytes_limit": int(self.gigabytes * 1e9)}


def fitting(monkeypatch: pytest.MonkeyPatch, gigabytes: float | None, run: RunSpec) -> int:
    monkeypatch.setattr(jax, "local_devices", lambda: [Gpu(gigabytes)])
    return fitting_size((run.own_bonus,), [run])


def test_on_a_gpu_a_pack_is_what_its_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    run = find_suite("lambda-bracket").runs()[0]
    sizes = [fitting(monkeypatch, g, run) for g in (0.001, 8, 16, 24, 80, 141)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert sizes[-1] > sizes[1] > 1
    assert fitting(monkeypatch, None, run) == fitting(monkeypatch, 16, run)
    assert fitting(monkeypatch, 1e6, run) == MOST
    # what is planned fits
    assert sizes[3] * bytes_of(run.program()) <= 24e9


def test_a_planned_pack_is_what_the_learner_gets() -> None:
    runs = tuple(tiny(knobs={"learning_rate": [1e-3, 1e-2]}, seeds=[5]).runs())
    pack = PackSpec(runs, (NONE,)).pack
    assert pack.runs.seed.tolist() == [5, 5]
    assert pack.runs.learning_rate.tolist() == pytest.approx([1e-3, 1e-2])
    assert pack.runs.bonus_coef.tolist() == [0, 0]


def sizes(store: Store, suite: Suite) -> list[int]:
    return [len(pack.runs) for pack in plan(suite, store).packs]


def test_retry_with_a_size_plans_again(tmp_path: Path) -> None:
    """What failed is planned again; a finished run keeps a pack, in case it is found damaged."""
    store, suite = Store(tmp_path), tiny(seeds=6)
    first = plan(suite, store, 4)
    for run in suite.runs()[:4]:
        store.run(run.config).write_failed("it broke", provenance={})
    store.run(suite.runs()[5].config).write_finished(**outcome())
    retry_failed(suite, store)
    assert sizes(store, suite) == [4, 2]
    retry_failed(suite, store, 3)
    assert first.refresh()
    assert [len(pack.runs) for pack in first.packs] == sizes(store, suite) == [1, 3, 2]
    assert {run for pack in first.packs for run in pack.runs} == set(suite.runs())
    assert first.packs[0].runs == (suite.runs()[5],)
    retry_failed(suite, store, 3)
    assert not first.refresh()
    retry_failed(suite, store, 9)
    assert sizes(store, suite) == [1, 5]
    assert plan(suite, Store(tmp_path), 2).revision == 3


def test_what_was_learned_is_kept_and_what_is_held_stays(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), tiny(seeds=9)
    stopped, held, _ = plan(suite, store, 3).packs
    arrays = {"state/steps": np.array([7, 8, 9]), SPENT: np.array(6.0)}
    stopped.folder(store).checkpoints.save(5, arrays)
    with store.claims().take(held.folder(store).name):  # type: ignore[union-attr]
        retry_failed(suite, store, 2)
    packs = plan(suite, store).packs
    assert [len(pack.runs) for pack in packs] == [2, 1, 3, 2, 1]
    assert packs[2] == held
    for pack, steps, spent in ((packs[0], [7, 8], 4.0), (packs[1], [9], 2.0)):
        found = pack.folder(store).checkpoints.latest()
        assert found is not None
        assert (found.step, found.arrays["state/steps"].tolist()) == (5, steps)
        assert float(found.arrays[SPENT]) == spent
    assert not stopped.folder(store).checkpoints.paths()
    assert packs[3].folder(store).checkpoints.latest() is None


def test_a_damaged_revision_is_as_if_it_had_not_been_written(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), tiny(seeds=4)
    packs = plan(suite, store, 4)
    packs.split(packs.packs[0])
    assert sizes(store, suite) == [2, 2]
    (newest,) = tmp_path.glob("plans/*-r2.json")
    newest.write_bytes(newest.read_bytes()[:-9])
    assert sizes(store, suite) == [4]
    assert packs.refresh()
    assert len(store.quarantined()) == 1


def test_a_pack_is_split_once(tmp_path: Path) -> None:
    """By whoever comes first; the other finds nothing left to split."""
    suite = tiny(seeds=5)
    ours, theirs = (plan(suite, Store(tmp_path), 5) for _ in range(2))
    whole = ours.packs[0]
    ours.split(whole)
    theirs.split(whole)
    assert ours.packs == theirs.packs
    assert [len(pack.runs) for pack in theirs.packs] == [3, 2]
    assert theirs.revision == 2
