"""`clew report` on a store that was really trained."""

from __future__ import annotations

import errno
import html
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Container
from pathlib import Path

import numpy as np
import pytest

from clew.analysis import Statistics, StoreContents, read_store
from clew.analysis.report import write_report
from clew.analysis.results import EVALUATIONS, ROLLOUTS, records
from clew.cli.commands.report import report
from clew.cli.training import train_here
from clew.metrics import tail_mean
from clew.store import CannotWrite, RunFolder, Store, merge, scan
from clew.suite.launchers import WorkerConfig
from clew.validate import BadInput
from tests.cli.conftest import suite
from tests.store.faults import failing, nth, watched

WORLD = "TinyReproduce[k=2,v=2]"


@pytest.fixture(scope="module")
def stored(trained: Path) -> StoreContents:
    return read_store(trained)


def test_every_run_is_a_row(trained: Path, stored: StoreContents) -> None:
    rows = scan(Store(trained, read_only=True))
    runs = stored.results.runs
    assert set(runs["environment"]) == {WORLD}
    assert set(runs["status"]) == {"finished"}
    assert sorted(runs["tail_mean"]) == sorted(row.result["tail_mean"] for row in rows)
    assert (runs["seconds"] > 0).all()
    assert runs.groupby("bonus")["bonus_coef"].first().to_dict() == {"e3b": 0.03, "none": 0.0}
    assert stored.notes == []


def test_curves_have_every_column(stored: StoreContents) -> None:
    evaluations, rollouts = stored.results.evaluations, stored.results.rollouts
    assert len(evaluations) == 4 * 10
    assert len(rollouts) == 4 * 20
    # this world has nothing to fall from
    assert evaluations[[c for c in EVALUATIONS if c != "falls"]].notna().all(axis=None)
    assert evaluations["falls"].isna().all()
    assert rollouts[list(ROLLOUTS)].notna().all(axis=None)
    for run in records(stored.results.runs):
        curve = stored.results.only(bonus=run["bonus"], seed=run["seed"]).evaluations
        assert run["tail_mean"] == pytest.approx(tail_mean(curve["success"].to_numpy()))


def test_the_page(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "page.html"
    store = Path(shutil.copytree(trained, tmp_path / "copy"))
    report(store, out=out, proof_seconds=200)
    said = capsys.readouterr().out
    assert str(out) in said
    first = next(line for line in said.splitlines() if line.strip())
    assert first.startswith("Memoryless: train at least 3 seeds with E3B and without, ")
    page = out.read_text()
    assert first in html.unescape(page)
    words = re.sub(r"<[^>]*>", "", page)
    assert (
        "Proved of the world itself (25 states, γ = 199/200; end=stops: the step that ends" in words
    )
    assert "Expected of a bonus: change nothing that matters." in words
    assert "clew show" in words
    # it is kept, so that the next report need not ask
    report(store, out=out, proof_seconds=0)
    assert out.read_text() == page
    (store / "proofs.json").write_text("{")
    report(store, out=out, proof_seconds=0)
    said = html.unescape(out.read_text())
    assert "it was not decided within 0 s; without a limit: clew classify TinyReproduce" in said
    assert "All 4 runs are finished." in page
    assert WORLD in page
    assert "trained with device" in page
    assert re.search(r"settings\.steps 32", page)


def test_page_and_json_are_made_of_one_reading(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(run: RunFolder, names: Container[str] | None = None) -> dict[str, np.ndarray]:
        read.append(run.name)
        return curve(run, names)

    curve = RunFolder.curve
    monkeypatch.setattr(RunFolder, "curve", counted)
    page, document = tmp_path / "page.html", tmp_path / "answer.json"
    report(trained, out=page, json=document, proof_seconds=0)
    assert len(read) == len(set(read)) == 4
    both = page.read_text(), document.read_text()
    report(trained, out=page, proof_seconds=0)
    report(trained, json=document)
    assert (page.read_text(), document.read_text()) == both


def test_a_full_disk_names_the_page_and_leaves_the_old_one(
    stored: StoreContents, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    out.write_text("the old one")
    with (
        watched(nth(0, failing(errno.ENOSPC), ("write",))),
        pytest.raises(CannotWrite, match=r"page\.html' cannot be written \(No space left"),
    ):
        write_report(Statistics(stored.results), out)
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert out.read_text() == "the old one"


def test_a_read_only_store_is_told_how_to_write_elsewhere(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(statistics: Statistics, path: Path, **extras: object) -> None:
        raise CannotWrite(path, OSError(errno.EROFS, ""))

    monkeypatch.setattr("clew.analysis.report.write_report", refused)
    with pytest.raises(BadInput) as told:
        report(trained)
    assert str(told.value) == (
        f"'{trained}/report.html' cannot be written (Read-only file system); choose a folder that "
        "you may write to; with --out FILE the page goes elsewhere"
    )
    with pytest.raises(CannotWrite, match=r"you may write to$"):
        report(trained, out=tmp_path / "page.html")


def test_against_another_store(trained: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert train_here(WorkerConfig(suite=suite(learning_rate=1e-3), store=other)) == 0
    report(trained, against=str(other), out=tmp_path / "page.html", proof_seconds=0)
    page = (tmp_path / "page.html").read_text()
    assert f"Beside {other}" in page
    assert "not trained alike in the two stores: learning_rate is 0.003 here and 0.001" in page
    both = Store(tmp_path / "both")
    for each in (trained, other):
        merge(both, Store(each, read_only=True))
    apart = read_store(both)
    assert set(apart.results.runs["environment"]) == {
        "TinyReproduce[k=2,v=2,learning_rate=0.001]",
        "TinyReproduce[k=2,v=2,learning_rate=0.003]",
    }
    assert any("several values of learning_rate" in note for note in apart.notes)


def test_against_a_paper_without_these_arms(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="the suites do not match"):
        report(trained, against="paper", out=tmp_path / "page.html")
    with pytest.raises(BadInput, match="against='papre' is not valid"):
        report(trained, against="papre", out=tmp_path / "page.html")


def test_without_the_extra(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "jinja2" else find(name)
    )
    with pytest.raises(BadInput, match=r"needs jinja2; install the extra: .*clew\[report\]"):
        report(trained, out=tmp_path / "page.html")


def test_an_empty_store(tmp_path: Path) -> None:
    Store(tmp_path / "results")
    with pytest.raises(BadInput, match="holds no runs yet"):
        report(tmp_path / "results")
    with pytest.raises(BadInput, match="nowhere' does not exist; name the folder of a store"):
        report(tmp_path / "nowhere")


def test_the_analysis_reads_a_store_without_jax(trained: Path) -> None:
    code = (
        "import sys; from clew.analysis import read_store; "
        f"made = read_store({str(trained)!r}); assert len(made.results.runs) == 4; "
        "assert 'jax' not in sys.modules and 'clew.learner' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_names_of_the_suite_are_found_when_asked_for() -> None:
    code = (
        "import clew.suite.planning, clew.suite as s; "
        "assert callable(s.plan) and all(getattr(s, name) for name in s.__all__); "
        "assert not hasattr(s, 'nothing')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
