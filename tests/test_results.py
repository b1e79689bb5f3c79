"""The runs that are kept as data are whole, and their two tables agree."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import add_results
import missing
from clew.metrics import tail_mean
from clew.suite import find_suite, read_suite

FOLDER = Path(__file__).parent.parent / "results"


def check_runs(folder: Path) -> None:
    """Every run has its curve, and its tail mean is the curve's."""
    runs, curves = pd.read_csv(folder / "runs.csv"), pd.read_csv(folder / "curves.csv")
    assert list(runs.run) == list(curves.run) == list(range(len(runs)))
    for (_, run), (_, curve) in zip(runs.iterrows(), curves.iterrows(), strict=True):
        success = np.array(str(curve.successes).split(), int) / curve.evaluation_episodes
        assert run.steps == curve.evaluation_steps * len(success)
        assert run.tail_mean == pytest.approx(tail_mean(success), abs=1e-4)


def test_every_run_has_its_curve() -> None:
    check_runs(FOLDER)


def test_runs_of_another_machine_are_numbered_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there stays as it was, and what is added is what was trained, but for the commit."""
    for folder, wanted in (("there", slice(0, 3)), ("new", slice(940, 944))):
        (tmp_path / folder).mkdir()
        for name in ("runs.csv", "curves.csv"):
            table = pd.read_csv(FOLDER / name, dtype=str, keep_default_na=False)[wanted]
            table["run"] = range(len(table))
            table.to_csv(tmp_path / folder / name, index=False, lineterminator="\n")
    probes = pd.read_csv(FOLDER / "probes.csv", dtype=str)[:2]
    probes.assign(run=[0, 2]).to_csv(tmp_path / "new" / "probes.csv", index=False)
    before = (tmp_path / "there" / "runs.csv").read_text()
    command = ["add_results", str(tmp_path / "new"), "--to", str(tmp_path / "there")]
    monkeypatch.setattr("sys.argv", [*command, "--commit", "abc"])
    add_results.main()
    check_runs(tmp_path / "there")
    assert (tmp_path / "there" / "runs.csv").read_text().startswith(before)
    added, original = (
        pd.read_csv(folder / "runs.csv", dtype=str, keep_default_na=False)
        for folder in (tmp_path / "there", FOLDER)
    )
    added, original = added[3:].reset_index(drop=True), original[940:944].reset_index(drop=True)
    assert list(added.commit) == ["abc"] * 4
    assert list(added.run) == ["3", "4", "5", "6"]
    new = ["run", "commit"]
    pd.testing.assert_frame_equal(added.drop(columns=new), original.drop(columns=new))
    probed = pd.read_csv(tmp_path / "there" / "probes.csv", dtype=str)
    pd.testing.assert_frame_equal(probed, probes.assign(run=["3", "5"]), check_dtype=False)


def test_every_probe_is_of_a_run() -> None:
    runs, probes = pd.read_csv(FOLDER / "runs.csv"), pd.read_csv(FOLDER / "probes.csv")
    assert set(probes.run) <= set(runs.run)
    aucs = probes[["auc", "observation_auc", "untrained_auc"]].to_numpy()
    assert ((aucs >= 0) & (aucs <= 1)).all()


def test_what_is_missing_is_the_rest_of_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["missing", str(FOLDER)])
    missing.main()
    (tmp_path / "rest.toml").write_text(capsys.readouterr().out)
    rest, whole = set(read_suite(tmp_path / "rest.toml").runs()), set(find_suite("paper").runs())
    have = missing.trained(FOLDER)
    assert rest < whole
    assert len(whole) - len(rest) == sum(map(len, have.values()))
    for run in whole - rest:
        environment = run.environment + "[view=7]" * (("view", 7) in run.environment_options)
        assert run.seed in have[environment, run.reward, run.architecture, run.bonus]


def test_only_what_fits_is_declared() -> None:
    packs = list(missing.missing({}))
    assert sum(pack.runs for pack in packs) == find_suite("paper").size == 1800
    first = packs[0].compile + packs[0].seconds
    assert list(missing.within(packs, first - 1)) == []
    assert list(missing.within(packs, first + packs[1].seconds)) == packs[:2]


@given(st.lists(st.frozensets(st.integers(0, 2)), min_size=6, max_size=6))
def test_rectangles_have_every_arm_once(seeds: list[frozenset[int]]) -> None:
    rewards, bonuses = ("r", "s"), ("a", "b", "c")
    arms = list(itertools.product(rewards, bonuses))
    wanted = {arm: tuple(sorted(some)) for arm, some in zip(arms, seeds, strict=True)}
    found = [
        (arm, seed)
        for some, others, numbers in missing.rectangles(wanted, rewards, bonuses)
        for arm in itertools.product(some, others)
        for seed in numbers
    ]
    assert sorted(found) == sorted((arm, seed) for arm in arms for seed in wanted[arm])
