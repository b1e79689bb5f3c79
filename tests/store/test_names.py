"""Folder names are readable, safe everywhere, and inside the store whatever people call things."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.store import Store
from clew.store.names import NAME, WHOLE, pack_name, run_name, slug
from tests.store.things import config, finish

NASTY = st.sampled_from(
    ["", ".", "..", "../../etc/passwd", "/", "\\", "C:\\x", "con", "NUL", "a\0b", "\n", " ", "-rf",
     "~", "$(reboot)", "<b>", "é́", "环境", "🙂", "x" * 5000, "%2e%2e", "a/b", "aux.txt", "İ", "ß"]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=80)  # fmt: skip


def test_an_example() -> None:
    assert re.fullmatch(r"tinyreproduce-dense-gru-e3b-s3-[0-9a-f]{8}", run_name(config(3)))
    runs = [config(seed, reward=reward) for seed in range(5) for reward in ("dense", "sparse")]
    assert re.fullmatch(r"tinyreproduce-gru-e3b-x10-[0-9a-f]{8}", pack_name(runs, "12345678ff"))


@given(NASTY)
def test_slugs_are_words(word: str) -> None:
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", slug(word))


@given(NASTY, NASTY, NASTY, NASTY, st.integers(-(2**63), 2**64 - 1), NASTY)
def test_paths_stay_inside(
    env: str, reward: str, arch: str, bonus: str, seed: int, key: str
) -> None:
    names: dict[str, Any] = {
        "environment": env, "reward": reward, "architecture": arch, "bonus": bonus, "seed": seed,
    }  # fmt: skip
    name = run_name({**names, key + "!": key})
    assert NAME.fullmatch(name)
    assert len(name) <= WHOLE + 9
    root = Path("/store/runs")
    assert Path(os.path.normpath(root / name)).parent == root


@given(NASTY, NASTY)
def test_names_that_look_alike_are_told_apart(a: str, b: str) -> None:
    same = run_name(config(reward=a)) == run_name(config(reward=b))
    assert same == (a == b)


@pytest.mark.parametrize("name", ["../../up", "a/b", "x" * 5000, "\0", "环境"])
def test_nasty_runs_are_stored_like_any_other(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / "store")
    run = finish(store, environment=name, bonus=name)
    assert run.finished()
    assert run.path.parent == store.runs_folder
    assert os.listdir(tmp_path) == ["store"]
    assert [folder.name for folder in store.folders()] == [run.name]


def test_a_configuration_without_names_is_a_run() -> None:
    assert run_name({"environment": 3, "seed": "x"}).startswith("run-")
