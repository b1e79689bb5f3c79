"""From runs to packs: every run once, one program a pack, and one plan for all workers."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import jax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.store import Store
from clew.suite import PackSpec, RunSpec, Suite, find_suite, plan
from clew.suite.planning import MOST, bytes_of, fitting_size, group_by_program
from clew.suite.toml import parse_suite
from clew.validate import BadInput
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
    packs = plan(suite, Store(tmp_path_factory.mktemp("store")), size)
    runs = [run for each in packs for run in each.runs]
    assert len(runs) == len(set(runs)) == len(suite.runs())
    assert set(runs) == set(suite.runs())
    assert max(len(each.runs) for each in packs) <= size
    # no more packs than groups and size ask for
    assert len(packs) == sum(-(-len(group) // size) for _, group in group_by_program(suite))


@pytest.mark.parametrize("name", SUITES)
def test_a_pack_is_one_program(tmp_path: Path, name: str) -> None:
    for each in plan(SUITES[name], Store(tmp_path), 5):
        assert len(each.pack) == len(each.runs)  # joining refuses two programs
        assert len({run.steps for run in each.runs}) == 1
        assert each.periods == each.runs[0].steps // each.runs[0].settings.period
        for run in each.runs:
            assert run.bonus in ("none", each.bonus[0])
            if run.bonus != "none":
                assert run.program() == each.program


def test_sharing_saves_programs() -> None:
    demo = find_suite("demo")
    apart = dataclasses.replace(demo, share=False)
    assert len(group_by_program(demo)) == 6
    assert len(group_by_program(apart)) == 12
    assert all(bonus[0] == "e3b" for bonus, _ in group_by_program(demo))


def test_none_has_its_own_program_where_there_is_no_other() -> None:
    suite = dataclasses.replace(tiny(), share=True)
    assert [bonus for bonus, _ in group_by_program(suite)] == [("none", ())]


def test_the_first_worker_decides(tmp_path: Path) -> None:
    suite = tiny(seeds=7)
    first = plan(suite, Store(tmp_path), 3)
    assert [len(each.runs) for each in first] == [3, 3, 1]
    assert plan(suite, Store(tmp_path), 5) == first
    assert plan(suite, Store(tmp_path)) == first
    # another suite is another plan
    assert len(plan(tiny(seeds=8), Store(tmp_path), 8)) == 1


@pytest.mark.parametrize("size", [0, -1])
def test_no_pack_is_empty(tmp_path: Path, size: int) -> None:
    with pytest.raises(BadInput, match=f"pack_size={size}"):
        plan(tiny(), Store(tmp_path), size)


def test_a_suite_without_blocks_is_refused() -> None:
    with pytest.raises(BadInput, match="at least one block"):
        Suite(name="empty", blocks=[])


def test_on_a_cpu_a_pack_is_a_run_a_core(tmp_path: Path) -> None:
    assert fitting_size(("none", ()), tiny().runs()) == os.cpu_count()
    sizes = {len(each.runs) for each in plan(tiny(seeds=9), Store(tmp_path))}
    assert max(sizes) == os.cpu_count()


class Gpu:
    platform = "gpu"

    def __init__(self, gigabytes: float | None) -> None:
        self.gigabytes = gigabytes

    def memory_stats(self) -> dict[str, int] | None:
        return None if self.gigabytes is None else {"bytes_limit": int(self.gigabytes * 1e9)}


def fitting(monkeypatch: pytest.MonkeyPatch, gigabytes: float | None, run: RunSpec) -> int:
    monkeypatch.setattr(jax, "local_devices", lambda: [Gpu(gigabytes)])
    return fitting_size((run.bonus, run.bonus_options), [run])


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
    pack = PackSpec(runs, ("none", ())).pack
    assert pack.runs.seed.tolist() == [5, 5]
    assert pack.runs.learning_rate.tolist() == pytest.approx([1e-3, 1e-2])
    assert pack.runs.bonus_coef.tolist() == [0, 0]
