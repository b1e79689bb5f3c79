"""From a trained store to documents in it: what is measured, what is skipped, what is redone."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from clew.probes import document
from clew.probes.probing import Probed, Protocol, Step, probe_runs
from clew.suite import RunSpec, Suite
from clew.suite.store import Store, documents, scan
from clew.suite.store.seal import Seal
from clew.validate import BadInput
from tests.probes.conftest import EPISODES, copied, without_time


def again(folder: Path, suite: Suite, **changes: int) -> list[Probed]:
    protocol = dataclasses.replace(Protocol(EPISODES), **changes)
    return probe_runs(Store(folder), suite.runs(), protocol)


def test_every_run_has_a_document(probed: Path, small: Suite) -> None:
    pairs = document.every(Store(probed, read_only=True))
    assert {config["seed"] for config, _ in pairs} == {0, 1, 2}
    assert len(pairs) == len(small.runs()) == 3
    for config, made in pairs:
        assert made["protocol"] == {"version": 1, "episodes": EPISODES, "seed": 0}
        assert [q["question"] for q in made["questions"]] == [
            f"token 1 was shown {lag} steps ago" for lag in (1, 2, 3, 4)
        ]
        told = made["summary"]
        assert told["state_size"] == 16
        assert 0 < told["effective_dimension"] <= 16
        assert all(0 <= told["linear"][name] <= 1 for name in told["linear"])
        assert next((b["low"], b["high"]) for b in told["by_since"]) == (1, 1)
        for one in document.observed(config, made):
            assert one.fields["environment"] == "TinyReproduce[k=3,v=2]"
            assert one.quantities["success"] == made["tail_mean"]


def test_success_is_near_what_training_ended_with(probed: Path) -> None:
    for _, made in document.every(Store(probed, read_only=True)):
        assert made["success"] == pytest.approx(made["tail_mean"], abs=0.3)


def test_memory_is_told_from_what_is_seen(probed: Path) -> None:
    # a token shown one step ago is in any recurrent state, and in no observation
    for _, made in document.every(Store(probed, read_only=True)):
        first = made["questions"][0]["measured"]["probes"]
        assert first["memory"]["linear"] > 0.9
        assert first["observation"]["linear"] < 0.8


def test_probing_again_does_nothing(probed: Path, small: Suite, tmp_path: Path) -> None:
    folder = copied(probed, tmp_path / "results")
    before = {p: p.read_bytes() for p in folder.rglob("probe.json")}
    assert len(before) == 3
    found = again(folder, small)
    assert not any(each.fresh for each in found)
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
    documents.write_document(alien, Seal("probe", "0" * 64), kept[alien])
    store = Store(folder)
    found = probe_runs(store, small.runs(), Protocol(EPISODES))
    assert sum(each.fresh for each in found) == 3
    assert {i.path.rpartition("/")[2] for i in store.incidents} == {"probe.json"}
    assert len(store.set_aside()) == 3
    for path, data in kept.items():
        assert without_time(documents.read_any(path)[1]) == without_time(data)
    # the runs themselves were never in doubt
    assert {row.status for row in scan(Store(folder, read_only=True), deep=True)} == {"finished"}


def test_other_settings_are_another_measurement(probed: Path, small: Suite, tmp_path: Path) -> None:
    folder = copied(probed, tmp_path / "results")
    assert all(each.fresh for each in again(folder, small, episodes=41))
    assert not any(each.fresh for each in again(folder, small, episodes=41))
    assert len(document.every(Store(folder, read_only=True))) == 3


def test_other_weights_are_another_measurement(probed: Path, small: Suite, tmp_path: Path) -> None:
    folder = copied(probed, tmp_path / "results")
    path = next(folder.rglob("probe.json"))
    seal, data = documents.read_any(path)
    documents.write_document(path, seal, {**data, "agent": "0" * 64})
    assert len(document.every(Store(folder, read_only=True))) == 2
    assert sum(each.fresh for each in again(folder, small)) == 1


def test_what_cannot_be_probed_says_why(trained: Path, small: Suite, tmp_path: Path) -> None:
    folder = copied(trained, tmp_path / "results")
    store, runs = Store(folder), small.runs()
    lost, bare = (store.run(run.config) for run in runs[:2])
    (lost.path / "result.json").unlink()
    files = bare.find().outcome
    assert files is not None
    kept = {k: v for k, v in files["files"].items() if k != "agent.npz"}
    documents.write_document(
        bare.path / "result.json", Seal("result", bare.identity), {**files, "files": kept}
    )
    silent = dataclasses.replace(runs[0], architecture="Memoryless")
    trivial = _like(runs[0], ())
    found = probe_runs(store, [runs[0], runs[1], silent, trivial], Protocol(EPISODES))
    assert [each.skipped for each in found] == [
        "the run is begun, not finished",
        "its weights were not kept",
        "the run is not begun, not finished",
        "the run is not begun, not finished",
    ]


def _like(run: RunSpec, options: tuple[tuple[str, int], ...]) -> RunSpec:
    return dataclasses.replace(run, environment_options=options)


def test_steps_are_told(trained: Path, small: Suite, tmp_path: Path) -> None:
    folder = copied(trained, tmp_path / "results")
    steps: list[Step] = []
    probe_runs(Store(folder), small.runs()[:1], Protocol(EPISODES), steps.append)
    assert [s for s in steps if s.what == "recording"][-1] == ("recording", 1, 1)
    last = [s for s in steps if s.what == "fitting"][-1]
    assert last.done == last.total > 0


@pytest.mark.parametrize(
    ("field", "value"), [("episodes", 2), ("episodes", True), ("seed", -1), ("seed", 2**32)]
)
def test_bad_settings_are_named(field: str, value: int) -> None:
    with pytest.raises(BadInput, match=f"{field}={value}"):
        Protocol(**{field: value})


def test_documents_are_plain(probed: Path) -> None:
    for _, made in document.every(Store(probed, read_only=True)):
        numbers = [q["measured"]["selectivity"] for q in made["questions"] if q["measured"]]
        assert all(n is None or math.isfinite(n) for n in numbers)
