"""Runs with different bonuses in one program: when they are planned so, and what comes of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import clew.suite.training as training
from clew.bonuses import OneOf
from clew.bonuses.methods.none import NoBonus
from clew.bonuses.registry import bonuses
from clew.store import Store, merge
from clew.suite import PackSpec, Suite, find_suite, plan
from clew.suite.forecast import forecast
from clew.suite.packs import group_by_program
from clew.suite.planning import existing_plan, preview, retry_failed
from clew.suite.resuming import newest_checkpoints
from clew.suite.sharing import seconds, worth_joining
from clew.suite.spec import bonus_name
from clew.suite.toml import parse_suite
from tests.suite.declared import PERIODS, declared
from tests.suite.test_out_of_memory import device_of
from tests.suite.test_plan import Gpu
from tests.suite.test_resuming import after, periods
from tests.suite.trial import results, trained

SMALL = {"hidden": 8, "features": 4}
OPTIONS: dict[str, Any] = {"e3b": SMALL, "noveld": SMALL}


def three(**changes: Any) -> Suite:
    """Six runs: three bonuses, two seeds."""
    names = changes.pop("bonuses", ["none", "e3b", "noveld"])
    options = changes.pop(
        "bonus_options", {name: OPTIONS[name] for name in names if name in OPTIONS}
    )
    data = declared(**{"bonuses": names, "bonus_options": options, "seeds": 2, **changes})
    return parse_suite({**data, "share": True}, "three")


class OnGpu:
    """As if the plan were made on a GPU; it is followed here."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, suite: Suite, root: Path, size: int | None = None) -> list[PackSpec]:
        with self._monkeypatch.context() as patch:
            patch.setattr(jax, "local_devices", lambda: [Gpu(141)])
            return plan(suite, Store(root), size).packs

    def preview(self, suite: Suite, root: Path | None, size: int | None = None) -> list[PackSpec]:
        with self._monkeypatch.context() as patch:
            patch.setattr(jax, "local_devices", lambda: [Gpu(141)])
            return preview(suite, None if root is None else Store(root), size)


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> OnGpu:
    return OnGpu(monkeypatch)


def names_of(pack: PackSpec) -> list[str]:
    return sorted(name for name, _ in pack.bonuses)


def bonuses_of(packs: list[PackSpec]) -> list[list[str]]:
    return [names_of(pack) for pack in packs]


ALL = ["e3b", "none", "noveld"]


def test_one_program_on_a_gpu_and_as_before_on_a_cpu(on_gpu: OnGpu, tmp_path: Path) -> None:
    (pack,) = on_gpu(three(), tmp_path / "gpu")
    assert names_of(pack) == ALL
    assert set(pack.runs) == set(three().runs())
    assert isinstance(pack.program.bonus, OneOf)
    chosen = [pack.program.bonus.names[n] for n in pack.pack.runs.which_bonus]
    assert chosen == [bonus_name(run.own_bonus) for run in pack.runs]
    assert bonuses_of(plan(three(), Store(tmp_path / "cpu"), 8).packs) == [["e3b"], ["noveld"]]


def test_the_first_worker_decides_for_all(on_gpu: OnGpu, tmp_path: Path) -> None:
    decided = on_gpu(three(), tmp_path / "gpu")
    assert plan(three(), Store(tmp_path / "gpu"), 2).packs == decided
    assert forecast(three(), Store(tmp_path / "gpu")).total.programs == 1
    decided = plan(three(), Store(tmp_path / "cpu"), 8).packs
    assert on_gpu(three(), tmp_path / "cpu") == decided
    assert forecast(three(), Store(tmp_path / "cpu")).total.programs == 2


@pytest.mark.parametrize("data", [{"pack_size": 2}, {"packs": [[0, 1, 2], [3], [5, 4]]}])
def test_a_plan_of_before_is_kept(on_gpu: OnGpu, tmp_path: Path, data: dict[str, Any]) -> None:
    """Under the name that it had then, which is that of the groups."""
    suite, store = three(), Store(tmp_path)
    name = plan(suite, Store(tmp_path / "elsewhere"), 2)._name
    assert store.propose(name, 1, data)
    packs = on_gpu(suite, tmp_path)
    assert bonuses_of(packs) == [["e3b"], ["e3b"], ["noveld"]]
    assert [len(pack.runs) for pack in packs] == ([2, 2, 2] if "pack_size" in data else [3, 1, 2])


def test_an_older_version_refuses_a_plan_with_shared_programs(
    on_gpu: OnGpu, tmp_path: Path
) -> None:
    """It would read `packs` or `pack_size`, and train runs with each other's bonus."""
    on_gpu(three(), tmp_path)
    made = plan(three(), Store(tmp_path))
    made.split(made.packs[0])
    found = Store(tmp_path).plan(made._name)
    assert found is not None
    assert found[0] == 2
    assert not found[1].keys() & {"packs", "pack_size"}


def test_not_without_share_nor_where_scores_are_treated_otherwise(on_gpu: OnGpu) -> None:
    apart = dataclasses.replace(three(), share=False)
    assert bonuses_of(on_gpu.preview(apart, None)) == [["none"], ["e3b"], ["noveld"]]
    options = {"e3b": {**SMALL, "clip": 5.0}, "noveld": SMALL}
    assert bonuses_of(on_gpu.preview(three(bonus_options=options), None)) == [["e3b"], ["noveld"]]
    # without a bonus there are no scores: it goes with any
    options = {name: {**SMALL, "normalise": False} for name in OPTIONS}
    (pack,) = on_gpu.preview(three(bonus_options=options), None)
    assert names_of(pack) == ALL
    assert not pack.program.bonus.normalise


def test_the_study_has_half_the_programs(on_gpu: OnGpu) -> None:
    packs = on_gpu.preview(find_suite("paper"), None)
    assert len(packs) == 24
    assert {len(pack.runs) for pack in packs} == {30, 60, 90, 120}
    assert all(names_of(pack) == ALL for pack in packs)


def test_together_only_where_that_is_faster() -> None:
    """Small packs are; large ones have nothing to gain but their compilation."""
    groups = group_by_program(find_suite("paper"))[:2]
    assert worth_joining(groups, [0, 1], 256, ())
    many = [(bonuses, runs * 40) for bonuses, runs in groups]
    assert not worth_joining(many, [0, 1], 80, ())
    assert seconds(many, 80) > 20 * seconds(groups, 80)


def test_only_what_is_left_counts(on_gpu: OnGpu, tmp_path: Path) -> None:
    """A study that has ended, to which a bonus is added, computes that bonus alone."""
    assert trained(three(bonuses=["none", "e3b"]), tmp_path)[0].left == 0
    packs = on_gpu(three(), tmp_path)
    assert {(*names_of(pack), len(pack.runs)) for pack in packs} == {("e3b", 4), ("noveld", 2)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store as undisturbed work on one pack of all leaves it."""
    root = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert len(OnGpu(monkeypatch)(three(), root)) == 1
    assert trained(three(), root)[0] == (1, 0, "")
    return root


def test_every_run_is_as_apart(whole: Path, tmp_path: Path) -> None:
    """Its result, its curve, its diagnostics: of its own bonus."""
    trained(three(), tmp_path)
    for run in three().runs():
        one, other = Store(whole).run(run.config), Store(tmp_path).run(run.config)
        assert one.result().keys() == other.result().keys()
        for name in ("tail_mean", "normalised", "delivered"):
            assert one.result()[name] == pytest.approx(other.result()[name], rel=1e-2, abs=1e-4)
        mine, theirs = one.diagnostics(), other.diagnostics()
        assert mine.keys() == theirs.keys()
        for name in ("bonus", "normalised", "delivered"):
            np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-2, atol=1e-4)
            assert mine[name].any() == (run.bonus != "none")


def test_killed_and_gone_on(whole: Path, on_gpu: OnGpu, tmp_path: Path) -> None:
    on_gpu(three(), tmp_path)
    trained(three(), tmp_path, **after(2))
    (checkpoint,) = newest_checkpoints(Store(tmp_path))
    assert checkpoint.bonuses == sorted(bonus_name(run.own_bonus) for run in three().runs()[::2])
    assert forecast(three(), Store(tmp_path)).total.steps < forecast(three(), None).total.steps
    _, steps = trained(three(), tmp_path)
    assert periods(steps) == 6 * (PERIODS - 2)
    assert results(tmp_path) == results(whole)
    assert not list(newest_checkpoints(Store(tmp_path)))


def test_too_large_for_the_memory(
    whole: Path, on_gpu: OnGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The halves are of the same program, and go on; then smaller ones by hand."""
    on_gpu(three(), tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(training, "periods", device_of(3, after=2))
        trained(three(), tmp_path, until=lambda step: step.what == "split")
    made = existing_plan(three(), Store(tmp_path))
    assert made is not None
    assert bonuses_of(made.packs) == [ALL, ALL]
    retry_failed(three(), Store(tmp_path), 2)
    made.refresh()
    assert bonuses_of(made.packs) == [ALL] * 4
    _, steps = trained(three(), tmp_path)
    assert periods(steps) == 6 * (PERIODS - 2)
    assert results(tmp_path) == results(whole)


def test_seeds_added_midway_go_on_together(on_gpu: OnGpu, tmp_path: Path) -> None:
    on_gpu(three(), tmp_path)
    trained(three(), tmp_path, **after(2))
    packs = on_gpu(three(seeds=3), tmp_path)
    assert [(names_of(pack), len(pack.runs)) for pack in packs] == [(ALL, 6), (ALL, 3)]
    _, steps = trained(three(seeds=3), tmp_path)
    assert periods(steps) == 6 * (PERIODS - 2) + 3 * PERIODS


def test_a_copied_checkpoint_is_found_again(on_gpu: OnGpu, tmp_path: Path) -> None:
    on_gpu(three(), tmp_path / "there")
    trained(three(), tmp_path / "there", **after(2))
    here = Store(tmp_path / "here")
    assert len(merge(here, Store(tmp_path / "there")).checkpoints) == 1
    on_gpu(three(), tmp_path / "here")
    _, steps = trained(three(), tmp_path / "here")
    assert periods(steps) == 6 * (PERIODS - 2)


@dataclasses.dataclass(frozen=True)
class Broken(NoBonus):
    """Cannot score."""

    def score(self, observations: Any, state: Any, transitions: Any) -> Any:
        raise RuntimeError("this bonus is broken")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: bonuses[name] for name in bonuses.names()}
    monkeypatch.setattr(bonuses, "_entries", known)
    bonuses.register("broken")(Broken)


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    "names", [["none", "broken", "e3b"], ["none", "e3b", "broken"]], ids="-".join
)
def test_a_broken_bonus_fails_alone(on_gpu: OnGpu, tmp_path: Path, names: list[str]) -> None:
    """Whichever is the first, in whose program those without a bonus would be."""
    suite = three(bonuses=names, bonus_options={"e3b": SMALL})
    assert [len(pack.runs) for pack in on_gpu(suite, tmp_path, 4)] == [4, 2]
    outcome, steps = trained(suite, tmp_path)
    assert outcome.left == 0
    assert [step.what for step in steps].count("separated") == 1
    for run in suite.runs():
        wanted = "failed" if run.bonus == "broken" else "finished"
        assert Store(tmp_path).run(run.config).status == wanted
    # and again, when it is asked for: no joint program is tried any more
    retry_failed(suite, Store(tmp_path))
    outcome, steps = trained(suite, tmp_path)
    assert outcome.left == 0
    assert {step.what for step in steps} <= {"compiling", "failed", "found"}


def test_what_a_joint_pack_had_learned_is_kept(
    on_gpu: OnGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails in the middle; a pack that another worker has at that time stays joint."""
    on_gpu(three(), tmp_path, 4)
    store, made = Store(tmp_path), plan(three(), Store(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(training, "periods", device_of(3, RuntimeError("once"), after=2))
        with store.claims().take(made.packs[1].folder(store).name):  # type: ignore[union-attr]
            trained(three(), tmp_path, until=lambda step: step.what == "separated")
    made.refresh()
    assert sorted(bonuses_of(made.packs)) == [["e3b"], ALL, ["none"]]
    assert existing_plan(three(), store).packs == made.packs  # type: ignore[union-attr]
    _, steps = trained(three(), tmp_path)
    assert periods(steps) == 4 * (PERIODS - 2) + 2 * PERIODS
