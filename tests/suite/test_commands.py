"""`clew run` and `clew status`, as a user or a script reads them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from clew.cli.arm_table import print_runs
from clew.cli.commands.status import status
from clew.cli.progress import ProgressBars
from clew.store import Store, count, scan, world_name
from clew.suite import PackProgress
from clew.suite.provenance import commit
from clew.validate import BadInput
from tests.store.things import outcome
from tests.suite.declared import as_toml, declared, tiny


def clew_command(*words: str) -> subprocess.CompletedProcess[str]:
    code = "from clew.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )


def test_a_mistake_is_a_sentence_and_two(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(as_toml(declared(rewards=["dence"])))
    done = clew_command("run", str(file), "--store", str(tmp_path / "store"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"clew: {file}: block 1: rewards='dence' is not valid; choose")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "store").exists()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two finished, one failed for a reason with brackets, one diverged, one begun."""
    root = tmp_path / "store [1]"
    opened = Store(root)
    folders = [opened.run(run.config) for run in tiny(seeds=5).runs()]
    for seed in (0, 1):
        folders[seed].write_finished(**outcome(seed))
    folders[2].write_failed("ValueError: no [/such] shape [red]", provenance={})
    folders[3].write_failed("not finite after 5", status="diverged", provenance={})
    folders[4].begin()
    return root


def test_status_says_it_all(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status(store, deep=True)
    told = capsys.readouterr().out
    assert "1 unfinished, 1 diverged, 1 failed, 2 finished" in told
    words = told.replace("\n", "")
    assert "no [/such] shape [red]" in words
    assert "not finite after 5" in words


def test_status_for_a_script(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status(store, json=True)
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert told["counts"] == {"begun": 1, "diverged": 1, "failed": 1, "finished": 2}
    (arm,) = told["arms"]
    assert arm["environment"] == "TinyReproduce[k=2,v=2]"
    assert (arm["runs"], arm["finished"]) == (5, 2)
    tails = [outcome(seed)["result"]["tail_mean"] for seed in (0, 1)]
    assert arm["mean"] == pytest.approx(sum(tails) / 2)
    assert arm["std"] == pytest.approx(abs(tails[0] - tails[1]) / 2**0.5)
    assert {each["status"] for each in told["troubles"]} == {"failed", "diverged"}


def test_one_run_has_no_deviation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store(tmp_path).run(tiny(seeds=1).runs()[0].config).write_finished(**outcome(0))
    status(tmp_path, json=True)
    (arm,) = json.loads(capsys.readouterr().out)["arms"]
    assert arm["std"] is None
    status(tmp_path)
    assert f"{arm['mean']:.3f} │       │" in capsys.readouterr().out


def test_damage_shows(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoilt = next(store.glob("runs/*/result.json"))
    spoilt.write_bytes(b"")
    before = sorted(store.rglob("*"))
    with pytest.raises(SystemExit, match="3"):
        status(store)
    said = capsys.readouterr().out
    assert "damaged" in said
    assert "sets it aside, and trains it again" in " ".join(said.split())
    assert sorted(store.rglob("*")) == before
    writable = Store(store)
    for run in tiny(seeds=2).runs():
        _ = writable.run(run.config).status
    status(store)
    said = " ".join(capsys.readouterr().out.split())
    assert "set aside: runs/" in said
    assert "{" not in said


def test_status_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"'.*missing' does not exist"):
        status(tmp_path / "missing")
    with pytest.raises(BadInput, match="is not a store"):
        status(tmp_path)
    assert not list(tmp_path.iterdir())


def test_status_of_an_empty_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store(tmp_path)
    status(tmp_path)
    assert "no runs" in capsys.readouterr().out
    status(tmp_path, json=True)
    nothing = {"counts": {}, "arms": [], "troubles": [], "packs": [], "notes": []}
    assert json.loads(capsys.readouterr().out) == nothing


def test_a_store_of_other_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Store(tmp_path).run({"what": "something else"})
    run.write_finished({"score": 1}, curve={}, diagnostics={}, provenance={})
    status(tmp_path)
    assert "1 finished" in capsys.readouterr().out


def test_what_was_swept_is_kept_apart_as_in_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path)
    knobs = {"learning_rate": [1e-3, 1e-2, 1e-1], "bonus_coef": [0.1, 0.2]}
    for number, run in enumerate(tiny(knobs=knobs, bonuses=["e3b"], seeds=2).runs()):
        store.run(run.config).write_finished(**outcome(number))
    store.run(tiny(seeds=1).runs()[0].config).begin()
    status(tmp_path)
    said = capsys.readouterr().out
    assert "12 finished" in said
    assert "1 unfinished" in said
    for rate in (0.1, 0.01):
        assert f"learning_rate={rate}]" in said
    assert "e3b, λ = 0.1" in said
    status(tmp_path, json=True)
    told = json.loads(capsys.readouterr().out)
    assert sorted(arm["runs"] for arm in told["arms"]) == [1, 2, 2, 2, 2, 2, 2]
    assert told["counts"] == {"begun": 1, "finished": 12}


def test_options_show_in_the_table(store: Path) -> None:
    rows = scan(Store(store, read_only=True))
    console = Console(file=io.StringIO(), width=200)
    print_runs(console, rows, count(rows))
    told: Any = console.file
    assert "TinyReproduce[k=2,v=2]" in told.getvalue()
    narrow = Console(file=io.StringIO(), width=80)
    print_runs(narrow, rows, count(rows))
    told = narrow.file
    assert "…" not in told.getvalue()
    assert world_name({"environment": "X"}) == "X"


STEPS = [
    PackProgress("a-x2-00000000", "found", 6, 6, 0, 0.0, float("nan")),
    PackProgress("b-x2-00000000", "compiling", 2, 6, 0, 0.0, float("nan")),
    PackProgress("b-x2-00000000", "training", 3, 6, 100, 0.5, 0.25),
    PackProgress("b-x2-00000000", "stopped", 3, 6, 100, 0.5, 0.25),
    PackProgress("c-x2-00000000", "failed", 6, 6, 0, 0.0, float("nan")),
]


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_in_words(terminal: bool) -> None:
    file = io.StringIO()
    console = Console(file=file, width=120, force_terminal=terminal)
    with ProgressBars(console, 18) as display:
        for step in STEPS:
            display(step)
    told = file.getvalue()
    assert "b-x2-00000000: stopped, success 0.25, 200 steps/s" in told
    assert "c-x2-00000000: failed\n" in told
    if terminal:
        assert "15/18" in told  # 6 found, 2 + 1 trained, 6 failed


def test_progress_fits_a_narrow_terminal() -> None:
    """The end of the name, how far it is and how long it takes are there; the rest if it fits."""
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system=None)
    name = "mysterypath-grid-penalty-gateddeltanet-noveld-x10-7086f0fa"
    with ProgressBars(console, 1600) as display:
        display(PackProgress(name, "training", 642, 800, 1000, 0.05, 0.62, 31.0, 420.0))
    shown = file.getvalue().splitlines()[-2]
    assert "-x10-7086f0fa" in shown
    assert "642/800" in shown
    assert "7 min left, success 0.62" in shown


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One a minute, about the whole."""
    file, now = io.StringIO(), [0.0]
    with ProgressBars(Console(file=file, width=200), 18, clock=lambda: now[0]) as display:
        for second in range(150):
            now[0] = float(second)
            period = min(2 + second // 25, 6)
            display(
                PackProgress(
                    "b-x2-00000000", "training", period, 6, 100, 0.5, 0.25, left=6.0 - period
                )
            )
    told = file.getvalue().strip().splitlines()
    assert len(told) == 2
    assert told[0].startswith("all packs: 4/18 periods, ")
    assert told[0].endswith(" left, 0 packs done, 200 steps/s")


def test_progress_for_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBars(Console(stderr=True), 12, as_json=True) as display:
        for step in STEPS:
            display(step)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["what"] for each in told] == [step.what for step in STEPS]
    assert told[0]["success"] is None
    assert told[2]["success"] == 0.25


def test_an_installed_package_has_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if it is installed within a checkout of something else."""
    package = tmp_path / "venv" / "clew"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (tmp_path / ".gitignore").write_text("venv\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(tmp_path)]
    for words in (["init", "-q"], ["add", ".gitignore"], ["commit", "-qm", "theirs"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    monkeypatch.setattr("clew.__file__", str(package / "__init__.py"))
    assert commit() is None
    subprocess.run([*git, "add", "-f", "venv/clew/__init__.py"], check=True, capture_output=True)
    found = commit()
    assert found is not None
    assert found.endswith("-dirty")
