"""What a suite would take, against what it took."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.store import Store
from clew.suite import find_suite, plan
from clew.suite.footprint import footprint
from clew.suite.forecast import Forecast, _PackForecast, _sum, _waiting, forecast
from clew.suite.packs import group_by_program
from clew.suite.planning import preview
from clew.suite.rates import CPU_MICROSECONDS, GPU_STEPS, guess
from clew.suite.spec import NONE
from clew.suite.toml import parse_suite
from clew.validate import BadInput
from tests.store.things import contents
from tests.suite.declared import PERIOD, PERIODS, declared, rich, tiny


def opened(folder: Path) -> Store:
    return Store(folder, read_only=True)


def test_of_a_suite_that_nobody_has_begun(tmp_path: Path) -> None:
    suite = find_suite("demo")
    found = forecast(suite, None, 4)
    assert not list(tmp_path.iterdir())
    total = found.total
    assert (total.runs, total.finished, total.failed, total.todo) == (80, 0, 0, 80)
    assert total.packs == 8 * 3
    assert total.programs == len(group_by_program(suite))
    assert total.steps == sum(run.steps for run in suite.runs())
    assert [task.task.split("[")[0] for task in found.tasks] == [
        "MysteryPath-Grid",
        "TinyReproduce",
    ]
    assert found.guessed
    assert found.measured == 0
    assert 60 < total.seconds < 1200  # the README says minutes


def test_of_a_finished_store(finished: Path) -> None:
    before = contents(finished)
    total = forecast(tiny(), opened(finished), 2).total
    assert (total.finished, total.todo, total.packs, total.programs) == (4, 0, 0, 0)
    assert (total.steps, total.seconds, total.bytes) == (0, 0, 0)
    assert contents(finished) == before


def test_time_rests_on_the_runs_of_the_store(finished: Path) -> None:
    """Four runs are there, twelve are not; theirs is the pace, and the program's compilation."""
    made = [
        json.loads(path.read_text())["data"] for path in finished.glob("runs/*/provenance.json")
    ]
    found = forecast(tiny(seeds=16), opened(finished), 4)
    assert (found.measured, found.guessed) == (4, False)
    assert (found.total.finished, found.total.todo) == (4, 12)
    share = sorted(each["seconds"] for each in made)
    compiled = max(each["compiled"] for each in made)
    assert compiled > 0
    # a pack of four and of the finished ones need no training
    assert found.total.packs == 3
    expected = compiled + 3 * (0.5 + 4 * (share[1] + share[2]) / 2)
    assert found.total.seconds == pytest.approx(expected, rel=0.01)
    other = forecast(tiny(seeds=16, architectures=["GRU"]), opened(finished), 4)
    assert (other.measured, other.guessed) == (0, True)


def test_runs_of_another_device_say_nothing(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.suite.forecast.provenance", lambda: {"device": "gpu: another"})
    found = forecast(tiny(seeds=8), opened(finished), 4)
    assert (found.measured, found.guessed) == (0, True)


def test_what_failed_is_to_do_only_with_retry(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), tiny()
    for run in suite.runs()[:2]:
        store.run(run.config).write_failed("it broke", provenance={})
    found = forecast(suite, opened(tmp_path), 2).total
    assert (found.failed, found.todo, found.packs) == (2, 2, 1)
    found = forecast(suite, opened(tmp_path), 2, retry=True).total
    assert (found.failed, found.todo, found.packs) == (2, 4, 2)


def test_a_checkpoint_is_credited(tmp_path: Path) -> None:
    store, suite = Store(tmp_path), tiny()
    first, _ = plan(suite, store, 2).packs
    first.folder(store).checkpoints.save(4, {})
    found = forecast(suite, opened(tmp_path)).total
    assert found.steps == 2 * PERIOD * (PERIODS - 4) + 2 * PERIOD * PERIODS


def test_the_plan_of_the_store_is_followed(tmp_path: Path) -> None:
    suite = tiny(seeds=7)
    made = plan(suite, Store(tmp_path), 3)
    assert preview(suite, opened(tmp_path), 5) == made.packs
    assert forecast(suite, opened(tmp_path), 5).total.packs == 3
    assert [len(pack.runs) for pack in preview(suite, None, 5)] == [5, 2]
    with pytest.raises(BadInput, match="pack_size=0"):
        preview(suite, None, 0)


def test_the_disk_is_foreseen(finished: Path) -> None:
    written = sum(path.stat().st_size for path in finished.glob("runs/*/*"))
    foreseen = forecast(tiny(), None, 2)
    assert foreseen.total.bytes == pytest.approx(written, rel=0.15)
    # of checkpoints, which hold other things too, the order of magnitude
    golden = Path(__file__).parents[1] / "golden" / "store-1"
    (checkpoint,) = golden.glob("packs/*/*.npz")
    assert 0.1 < foreseen.checkpoints / 2 / checkpoint.stat().st_size < 10


def test_more_steps_and_weights_take_more() -> None:
    def of(**changes: Any) -> tuple[int, int]:
        return footprint(tiny(**changes).runs()[0])

    small = of()
    longer = of(steps=PERIOD * PERIODS * 2)
    wider = of(settings={"memory_width": 64})
    assert longer[0] > small[0]
    assert longer[1] == small[1]
    assert wider[0] > small[0]
    assert wider[1] > 3 * small[1]


def test_the_guess() -> None:
    """What was measured comes back, and what is more work takes longer."""
    paper, demo = find_suite("paper"), find_suite("demo")
    by_name = {run.architecture: run for run in paper.runs() if run.environment == "TinyReproduce"}
    for name, (_, large) in CPU_MICROSECONDS.items():
        program = by_name[name].program(NONE)
        assert guess(program, 1, "cpu").seconds_per_step == pytest.approx(large * 1e-6, rel=0.01)
        whole = guess(program, 180, "gpu")
        assert 180 / whole.seconds_per_step == pytest.approx(GPU_STEPS[name][0])
    gru = by_name["GRU"].program(NONE)
    tiny_runs = [run for run in demo.runs() if run.environment == "TinyReproduce"]
    small = next(run for run in tiny_runs if run.architecture == "GRU").program(NONE)
    images = next(run for run in paper.runs() if run.architecture == "GRU").program(NONE)
    for platform in ("cpu", "gpu"):
        one = guess(gru, 1, platform).seconds_per_step
        assert guess(images, 1, platform).seconds_per_step > one
        assert one <= guess(gru, 10, platform).seconds_per_step <= 10 * one
    assert guess(small, 1, "cpu").seconds_per_step == pytest.approx(24e-6, rel=0.1)


@given(st.integers(1, 9), st.integers(1, 3), st.booleans())
def test_runs_are_counted_without_being_made(seeds: int, rates: int, share: bool) -> None:
    data = rich()
    data["share"] = share
    data["block"][0] |= {"seeds": seeds}
    data["block"][0]["knobs"] = {"learning_rate": [10.0**-n for n in range(1, rates + 1)]}
    suite = parse_suite(data, "rich")
    assert [block.size for block in suite.blocks] == [len(list(b.runs())) for b in suite.blocks]
    assert suite.size >= len(suite.runs())


def test_every_knob_is_checked_though_not_every_run_is_made() -> None:
    with pytest.raises(BadInput, match=r"block 1: gamma=1.5 is not valid"):
        tiny(knobs={"learning_rate": [0.1, 0.2], "gamma": [0.9, 1.5]})
    with pytest.raises(BadInput, match="block 1: chunk=7 is not valid"):
        tiny(settings={"chunk": [8, 7]})


def test_absurd_sizes_are_answered_at_once() -> None:
    many = [n / 1000 for n in range(1, 1000)]
    suite = parse_suite(declared(seeds=100_000, knobs={"gamma": many, "entropy": many}), "huge")
    assert suite.size == 100_000 * 999**2
    with pytest.raises(BadInput, match="asks for 998,001 programs"):
        tiny(settings={"clip": many, "target_kl": many})


def test_it_is_all_plain(finished: Path) -> None:
    found: Forecast = forecast(tiny(), opened(finished))
    json.dumps([found._asdict(), found.total._asdict()])


@pytest.mark.parametrize(
    ("platform", "workers", "compile", "waited"),
    [
        ("cpu", 1, 10.0, 3 * 10),
        ("cpu", 2, 10.0, 3 * 10 / 2 + 10 / 2),  # both compile the program that has two packs
        ("gpu", 1, 10.0, 10),
        ("gpu", 1, 70.0, 70 + 2 * (70 - 50)),  # longer than the pack before trains
        ("gpu", 2, 70.0, 70 + 2 * (70 - 50) / 2),
    ],
)
def test_an_accelerator_compiles_while_it_trains(
    platform: str, workers: int, compile: float, waited: float
) -> None:
    packs = [_PackForecast(["absent"], program, 1, 50.0, compile) for program in "aabc"]
    if platform == "gpu":
        _, packs = zip(*_waiting([("", pack) for pack in packs], workers), strict=True)
    found = _sum("", list(packs), ("finished",), workers, platform)
    assert found.seconds == 4 * 50 + waited


def test_it_compiles_while_it_trains_in_another_world() -> None:
    """What is finished already is neither waited for nor waited with."""
    done = _PackForecast(["finished"])
    one, two = (_PackForecast(["absent"], program, 1, 50.0, 70.0) for program in "ab")
    found = _waiting([("one", done), ("one", one), ("two", done), ("two", two)], 1)
    assert [pack.compile for _, pack in found] == [0, 70, 0, 70 - 50]
