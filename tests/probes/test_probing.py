"""From a trained store to documents in it, to a table on the terminal and a section of the report.

One file, so that one worker trains once and compiles once.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from clew.analysis import read_store
from clew.cli.commands.probe import _print_results
from clew.cli.commands.report import report
from clew.cli.results_source import read_probes, statistics_of
from clew.probes import stored
from clew.probes.probing import ProbedRun, Protocol, probe_runs
from clew.store import Store, documents, scan
from clew.store.documents import Header
from clew.suite import RunSpec, Suite
from clew.validate import BadInput
from tests.probes.conftest import EPISODES, copied, without_time

pytestmark = pytest.mark.usefixtures("quick_fits")
PREDICTIONS = """
[[prediction]]
name = "told"
statement = "What was <shown> can be told from memory."
quantity = "auc"
above = 0.6

[[prediction]]
name = "wrong"
statement = "It can be told from what is seen."
quantity = "observation_auc"
above = 0.99
"""


def again(folder: Path, suite: Suite, **changes: int) -> list[ProbedRun]:
    protocol = dataclasses.replace(Protocol(EPISODES), **changes)
    return probe_runs(Store(folder), suite.runs(), protocol)


def test_every_run_has_a_document(probed: Path, small: Suite) -> None:
    pairs = stored.read_all_probes(Store(probed, read_only=True))
    assert {config["seed"] for config, _ in pairs} == {0, 1, 2}
    assert len(pairs) == len(small.runs()) == 3
    for config, made in pairs:
        assert made["protocol"] == {"version": stored.VERSION, "episodes": EPISODES, "seed": 0}
        assert [q["question"] for q in made["questions"]] == [
            f"token 1 was shown {lag} steps ago" for lag in (1, 2, 3, 4)
        ]
        told = made["summary"]
        assert told is not None
        assert told["state_size"] == 16
        assert 0 < (told["effective_dimension"] or 0) <= 16
        assert all(auc is not None and 0 <= auc <= 1 for auc in told["linear"].values())
        assert next((b["low"], b["high"]) for b in told["by_since"]) == (1, 1)
        for one in stored.measurements([(config, made)]):
            assert one.fields["environment"] == "TinyReproduce[k=3,v=2]"
            assert one.quantities["success"] == made["tail_mean"]


def test_success_is_near_what_training_ended_with(probed: Path) -> None:
    store = Store(probed, read_only=True)
    for config, made in stored.read_all_probes(store):
        result = store.run(config).result()
        assert result is not None
        # of the last evaluation, whose agent this is: of 20 other episodes
        assert made["success"] == pytest.approx(result["final_success"], abs=0.3)


def test_memory_is_told_from_what_is_seen(probed: Path) -> None:
    # a token shown one step ago is in any recurrent state, and in no observation
    for _, made in stored.read_all_probes(Store(probed, read_only=True)):
        first = made["questions"][0]["measured"]
        assert first is not None
        assert first["probes"]["memory"]["linear"] > 0.9
        assert first["probes"]["observation"]["linear"] < 0.8


def test_the_answer_reads_the_probes(probed: Path) -> None:
    statistics = statistics_of(read_store(Store(probed)), read_probes(probed), 0.05)
    (arm,) = statistics.decoded
    assert arm == ("TinyReproduce[k=3,v=2]", "dense", "GRU", "none")
    assert arm[:3] == tuple(
        statistics.results.runs[["environment", "reward", "architecture"]].iloc[0]
    )
    assert 0 < statistics.decoded[arm].estimate < 1


def test_probing_again_does_nothing(probed: Path, small: Suite, tmp_path: Path) -> None:
    folder = copied(probed, tmp_path / "results")
    before = {p: p.read_bytes() for p in folder.rglob("probe.json")}
    assert len(before) == 3
    found = again(folder, small)
    assert not any(each.new for each in found)
    assert {p: p.read_bytes() for p in folder.rglob("probe.json")} == before


def test_damage_is_set_aside_and_mended_to_the_same_numbers(
    probed: Path, small: Suite, tmp_path: Path
) -> None:
    folder = copied(probed, tmp_path / "results")
    hurt, torn, alien = sorted(folder.rglob("probe.json"))
    kept = {p: documents.read_any(p)[1] for p in (hurt, torn, alien)}
    text = hurt.read_text().replace('"episodes": 40', '"episodes": 41', 1)
    hurt.write_text(text)
    torn.write_bytes(torn.read_bytes()[:-100])
    documents.write_document(alien, Header("probe", "0" * 64), kept[alien])
    store = Store(folder)
    found = probe_runs(store, small.runs(), Protocol(EPISODES))
    assert sum(each.new for each in found) == 3
    assert {i.path.rpartition("/")[2] for i in store.incidents} == {"probe.json"}
    assert len(store.quarantined()) == 3
    for path, data in kept.items():
        assert without_time(documents.read_any(path)[1]) == without_time(data)
    # the runs themselves were never in doubt
    assert {row.status for row in scan(Store(folder, read_only=True), deep=True)} == {"finished"}


def test_other_settings_are_another_measurement(probed: Path, small: Suite, tmp_path: Path) -> None:
    folder = copied(probed, tmp_path / "results")
    assert all(each.new for each in again(folder, small, episodes=41))
    assert not any(each.new for each in again(folder, small, episodes=41))
    assert len(stored.read_all_probes(Store(folder, read_only=True))) == 3


def test_other_weights_are_another_measurement(probed: Path, small: Suite, tmp_path: Path) -> None:
    folder = copied(probed, tmp_path / "results")
    path = next(folder.rglob("probe.json"))
    header, data = documents.read_any(path)
    documents.write_document(path, header, {**data, "agent": "0" * 64})
    assert len(stored.read_all_probes(Store(folder, read_only=True))) == 2
    assert sum(each.new for each in again(folder, small)) == 1


def test_what_cannot_be_probed_says_why(trained: Path, small: Suite, tmp_path: Path) -> None:
    folder = copied(trained, tmp_path / "results")
    store, runs = Store(folder), small.runs()
    lost, bare = (store.run(run.config) for run in runs[:2])
    (lost.path / "result.json").unlink()
    files = bare.find().outcome
    assert files is not None
    kept = {k: v for k, v in files["files"].items() if k != "agent.npz"}
    documents.write_document(
        bare.path / "result.json", Header("result", bare.identity), {**files, "files": kept}
    )
    silent = dataclasses.replace(runs[0], architecture="Memoryless")
    trivial = _like(runs[0], ())
    found = probe_runs(store, [runs[0], runs[1], silent, trivial], Protocol(EPISODES))
    assert [each.skipped for each in found] == [
        "it is begun, not finished",
        "its weights were not kept",
        "it is not in the store",
        "it is not in the store",
    ]


def _like(run: RunSpec, options: tuple[tuple[str, int], ...]) -> RunSpec:
    return dataclasses.replace(run, environment_options=options)


def test_progress_is_reported(trained: Path, small: Suite, tmp_path: Path) -> None:
    folder = copied(trained, tmp_path / "results")
    steps: list[tuple[str, int, int]] = []
    probe_runs(
        Store(folder), small.runs()[:1], Protocol(EPISODES), lambda *step: steps.append(step)
    )
    assert [step for step in steps if step[0] == "recording"][-1] == ("recording", 1, 1)
    _, done, total = [step for step in steps if step[0] == "fitting"][-1]
    assert done == total > 0


@pytest.mark.parametrize(
    ("field", "value"), [("episodes", 2), ("episodes", True), ("seed", -1), ("seed", 2**32)]
)
def test_bad_settings_are_named(field: str, value: Any) -> None:
    with pytest.raises(BadInput, match=f"{field}={value}"):
        Protocol(**{field: value})


def test_an_unknown_latent_is_named() -> None:
    with pytest.raises(BadInput, match="unknown latent 'tiles'"):
        Protocol(latent="tiles")


def test_from_a_trained_suite_to_the_page(
    clew, trained: Path, suite_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(trained, tmp_path / "results")
    file = tmp_path / "predictions.toml"
    file.write_text(PREDICTIONS, encoding="utf-8")
    words = ["probe", suite_file, "--store", folder, "--episodes", EPISODES]
    assert clew(*words, "--predictions", file) == 0
    said = capsys.readouterr().out
    assert "2 predictions, registered" in said
    assert "told: hit." in said
    assert "wrong: miss." in said
    assert "Can the probes be relied on?" in said
    assert "3 runs: 3 probed now, 0 before, 0 without a result" in said

    assert clew(*words, "--json") == 0
    out = capsys.readouterr()
    assert "3 runs: 0 probed now, 3 before" in out.err
    whole = json.loads(out.out.splitlines()[-1])
    (arm,) = whole["arms"]
    assert (arm["architecture"], arm["bonus"], arm["seeds"]) == ("GRU", "none", 3)
    assert arm["memory"]["low"] <= arm["memory"]["mean"] <= arm["memory"]["high"]
    assert [each["verdict"] for each in whole["predictions"]] == ["hit", "miss"]
    assert whole["check"]["shuffled"] < 0.7 < whole["check"]["lowest"] <= whole["check"]["planted"]
    assert not any(each["late"] for each in whole["predictions"])

    report(folder, out=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "What memory encodes" in page
    assert "For a signal planted in the recorded states" in page
    assert f"{EPISODES} episodes of every run were replayed, from seed 0." in page
    assert page.count('src="data:image/svg+xml;base64,') == 2  # without a bonus there is no gain
    assert "<dt>told: hit</dt>" in page
    assert "What was &lt;shown&gt; can be told" in page
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", page)

    assert clew("export", folder, "--out", tmp_path / "files") == 0
    drawn = {path.stem for path in (tmp_path / "files" / "figures").glob("probes-*.pdf")}
    assert drawn == {"probes-auc", "probes-ages"}
    assert "GRU" in (tmp_path / "files" / "tables" / "probes.csv").read_text()


def test_predictions_after_the_results_are_late(
    clew, probed: Path, suite_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(probed, tmp_path / "results")
    file = tmp_path / "predictions.toml"
    file.write_text(PREDICTIONS, encoding="utf-8")
    words = ["probe", suite_file, "--store", folder, "--episodes", EPISODES, "--json"]
    assert clew(*words, "--predictions", "study") == 0
    out = capsys.readouterr()
    assert "6 predictions, registered" in out.err
    assert "after the first result" not in out.err  # they are about other worlds
    outcomes = json.loads(out.out.splitlines()[-1])["predictions"]
    assert [each["name"] for each in outcomes] == [f"P{i}" for i in range(1, 7)]
    assert {each["verdict"] for each in outcomes} == {"not evaluable"}
    assert clew(*words, "--predictions", file) == 0
    out = capsys.readouterr()
    assert "told, wrong after the first results that they are about" in out.err
    assert clew(*words, "--predictions", file) == 0
    assert "after the first results" not in capsys.readouterr().err, "that was told"
    late = {p["name"]: p["late"] for p in json.loads(out.out.splitlines()[-1])["predictions"]}
    assert late["told"]
    assert not late["P1"]
    # another bound is another prediction, and the page shows both
    file.write_text(PREDICTIONS.replace("above = 0.6", "above = 0.55"), encoding="utf-8")
    assert clew(*words, "--predictions", file) == 0
    report(folder, out=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<dt>told: hit</dt>") == 2
    assert "where above 0.6 was predicted" in page
    assert "where above 0.55 was predicted" in page
    assert page.count("in place of what was registered") == 1
    assert page.count("when there were results already") == 3
    # so does the terminal, which also says what has become of the register
    (folder / "predictions" / "0001.json").unlink()
    assert clew(*words) == 0
    problems = json.loads(capsys.readouterr().out.splitlines()[-1])["register"]
    assert problems[0] == "registration 1 is missing"
    assert clew(*words[:-1]) == 0
    said = capsys.readouterr().out
    assert "told (revised): hit. " in said
    assert "something is wrong with the registered predictions: registration 1 is missing" in said


def test_the_studys_suite_on_an_empty_store_says_how_to_train_it(
    clew, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert clew("probe", "probe", "--store", tmp_path) == 3
    said = capsys.readouterr().out
    assert "skipped, it is not in the store: " in said
    assert "and 33 more" in said
    assert "36 runs: 0 probed now, 0 before, 36 without a result" in said
    train = f"this trains them: clew run probe --store {tmp_path}"
    assert f"36 of them are not trained to the end; {train}\n" in said


@pytest.mark.parametrize("as_json", [True, False])
def test_lists_among_options_are_written_as_a_report_writes_them(
    probed: Path, small: Suite, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    run, name = small.runs()[0], "MysteryPath-Grid"
    (_, made), *_ = stored.read_all_probes(Store(probed, read_only=True))
    run = dataclasses.replace(
        run, environment=name, reward="sparse", environment_options=(("origin_sides", (0, 1)),)
    )
    store = Store(probed, read_only=True)
    _print_results(Console(width=100), store, [ProbedRun(run, made)], [], as_json)
    assert f"{name}[origin_sides=[0, 1]]" in capsys.readouterr().out


def test_unfinished_runs_are_named(
    clew, suite_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert clew("probe", suite_file, "--store", tmp_path / "empty") == 3
    said = capsys.readouterr().out
    assert "skipped, it is not in the store: tinyreproduce-dense-gru-none-s0-" in said
    assert "3 runs: 0 probed now, 0 before, 3 without a result" in said
    assert "3 of them are not trained to the end; " in said
    assert f"this trains them: clew run {suite_file} --store" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nonsense"], "suite='nonsense' is not valid; choose"),
        (
            ["probe", "--store", "nowhere"],
            "does not exist; name the folder of a store, or train: clew run probe --store nowhere",
        ),
        (["probe", "--episodes", "2"], "episodes=2 is not valid; it must be a whole number"),
        (["probe", "--seed", "-1"], "seed=-1 is not valid; it must be a whole number"),
        (["probe", "--predictions", "nothing.toml"], "nothing.toml"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(
    clew, words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = [] if "--store" in words else ["--store", tmp_path]
    assert clew("probe", *words, *place) == 2
    assert told in capsys.readouterr().err
