"""`clew train`, `clew merge` and TensorBoard's files."""

from __future__ import annotations

import json
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from clew.cli.commands.merge import merge
from clew.cli.commands.train import parse_options
from clew.store import Store, scan
from clew.validate import BadInput
from tests.cli.called import called
from tests.cli.conftest import SMALL

FLAGS = ["--reward", "dense", "--architecture", "Memoryless", "--bonus", "e3b", "--seeds", "2"]
WORDS = st.from_regex(r"[a-z_]{3,8}", fullmatch=True).filter(
    lambda word: word not in ("true", "false", "inf", "nan")
)


def test_numbers_that_toml_does_not_know() -> None:
    given = ["a=.5", "b=-1.", "c=.", "d=1.e3", "e=.5s", "f=inf"]
    expected = {"a": 0.5, "b": -1.0, "c": ".", "d": 1000.0, "e": ".5s", "f": float("inf")}
    assert parse_options("environment_options", given) == expected


def test_flags_train_the_same_runs_as_a_suite(trained: Path, tmp_path: Path) -> None:
    flags = [*FLAGS, "--steps", "5120", "--environment-options", "k=2", "v=2"]
    flags += ["--knobs.learning-rate", "0.003", "--store", str(tmp_path / "results")]
    flags += ["--tensorboard"]
    for name, value in SMALL.items():
        flags += [f"--settings.{name.replace('_', '-')}", str(value)]
    assert called("train", "TinyReproduce", *flags).code == 0
    rows = {row.name: row for row in scan(Store(tmp_path / "results", read_only=True))}
    wanted = {row.name: row for row in scan(Store(trained, read_only=True))}
    assert {name for name in wanted if "-e3b-" in name} == set(rows)
    assert all(wanted[name].config == rows[name].config for name in rows)
    assert {p.parent.name for p in tmp_path.glob("results/tensorboard/*/complete")} == set(rows)


def test_mistakes_are_explained(tmp_path: Path) -> None:
    whole = ["TinyReproduce", *FLAGS, "--steps", "9999999", "--store", str(tmp_path / "s")]
    for flags, said in (
        (["--architecture", "GRUU"], "did you mean 'GRU'"),
        (["--environment-options", "k"], "write name=value"),
        (["--environment-options", "k=2", "k=3"], "twice"),
        (["--steps", "1"], "must be at least 81920, one period"),
        (["--settings.chunk", "60"], "clew: settings: chunk=60 is not valid; it must divide"),
        (["--knobs.gamma", "2"], "clew: knobs: gamma=2.0 is not valid; it must be from 0 to 1"),
    ):
        done = called("train", *whole, *flags)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert said in done.err
    assert not (tmp_path / "s").exists()


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.integers(-(2**40), 2**40) | st.booleans() | st.floats(allow_nan=False) | WORDS,
    )
)
def test_options_are_read_as_in_toml(options: dict[str, object]) -> None:
    words = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in options.items()}
    found = parse_options("environment_options", [f"{n}={v}" for n, v in words.items()])
    assert found == options
    assert [type(v) for v in found.values()] == [type(v) for v in options.values()]


def test_merge(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    merge(trained, tmp_path / "copy")
    assert "4 runs copied" in capsys.readouterr().out
    merge(trained, tmp_path / "copy", json=True)
    assert len(json.loads(capsys.readouterr().out)["same"]) == 4
    with pytest.raises(BadInput, match="the same store"):
        merge(trained, trained)
    with pytest.raises(BadInput, match="does not exist"):
        merge(tmp_path / "nowhere", tmp_path / "copy")


def test_merge_tells_of_conflicts(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = Store(trained, read_only=True)
    (name, *_) = [folder.name for folder in source.folders()]
    run = source.run(scan(source)[0].config)
    other = Store(tmp_path / "other").run(run.config)
    changed = {**run.result(), "tail_mean": 0.123}
    other.write_finished(
        changed, curve=run.curve(), diagnostics=run.diagnostics(), provenance=run.provenance()
    )
    with pytest.raises(SystemExit) as ended:
        merge(trained, tmp_path / "other")
    assert ended.value.code == 3
    said = capsys.readouterr().out
    assert "1 runs have different results in the two stores" in said
    assert f"{name}: result.json differs" in said
    assert other.result() == changed
