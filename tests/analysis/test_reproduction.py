"""What was trained of the published study: the tables say what the files in `results/` say."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import re
import statistics
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import reproduce
from clew.analysis.figures.reproduction import _columns
from clew.analysis.report.comparison import (
    ArmSummary,
    _as_published,
    mean_difference,
    published_summaries,
)
from clew.analysis.reproduction import (
    CLAIMS,
    Claim,
    TrainedArm,
    judge,
    overview,
    pace,
    read_trained,
    results_folder,
    tables,
    together,
)
from clew.analysis.reproduction.trained import Reading, named_reading
from clew.analysis.stats.intervals import Interval
from clew.cli.commands.report import report
from clew.store.arms import name_arms
from clew.suite import find_suite
from clew.validate import BadInput

ARM = ("MysteryPath-Grid", "sparse", "RetNet", "e3b")


@pytest.fixture(scope="module")
def trained() -> list[TrainedArm]:
    return read_trained(results_folder())


def tails_by_hand(**wanted: str) -> list[float]:
    """From the text of the files: the last fifth of the longest runs' successes."""
    with (results_folder() / "runs.csv").open() as file:
        runs = [r for r in csv.DictReader(file) if all(r[k] == v for k, v in wanted.items())]
    longest = max(int(r["steps"]) for r in runs)
    numbers = {r["run"] for r in runs if int(r["steps"]) == longest}
    with (results_folder() / "curves.csv").open() as file:
        curves = [row for row in csv.DictReader(file) if row["run"] in numbers]
    found = []
    for row in curves:
        successes = [int(word) for word in row["successes"].split()]
        last = successes[-max(1, round(len(successes) / 5)) :]
        found.append(sum(last) / len(last) / int(row["evaluation_episodes"]))
    return found


def of(trained: list[TrainedArm], arm: tuple[str, ...], reading: str) -> TrainedArm:
    (found,) = (e for e in trained if e.arm == arm and str(e.reading) == reading)
    return found


def test_an_arm_is_what_its_runs_say(trained: list[TrainedArm]) -> None:
    options = {"environment_options": "show_goal=true", "bonus_options": "", "knobs": ""}
    names = dict(zip(("environment", "reward", "architecture", "bonus"), ARM, strict=True))
    tails = tails_by_hand(**names, **options)
    found = of(trained, ARM, "show_goal=true")
    assert found.whole
    summary = found.summary()
    assert summary.n == len(tails) == 5
    assert summary.mean == pytest.approx(statistics.mean(tails), abs=0.003)
    assert summary.std == pytest.approx(statistics.stdev(tails), abs=0.003)


def test_every_run_that_is_the_longest_of_its_arm_counts(trained: list[TrainedArm]) -> None:
    assert len({(e.arm, e.reading) for e in trained}) == len(trained)
    for each in trained:
        assert {len(curve) for curve in each.curves} == {each.evaluations}


def test_controls_stand_apart_from_what_was_published(
    trained: list[TrainedArm], capsys: pytest.CaptureFixture[str]
) -> None:
    published = published_summaries()
    controls = [each for each in trained if each.arm not in published]
    assert {each.arm[2] for each in controls} == {"Given"}
    arms = tables(trained)[1]
    assert [row[-1].text for row in arms.rows].count("not in the paper") == len(controls)
    report(Path("paper"))
    first, _, last = capsys.readouterr().out.partition("Controls that the paper does not have")
    assert "Given" not in first
    assert last.count(" Given, ") == len([each for each in controls if each.whole])


@pytest.mark.parametrize(
    ("settings", "knobs", "text"),
    [
        ("gae_lambda=0.999 truncation=end", "gamma=0.98", "γ and λ exchanged, truncation=end"),
        ("gae_lambda=0.995", "gamma=0.95", "γ and λ exchanged"),
        ("gae_lambda=0.98", "gamma=0.98", "gae_lambda=0.98, gamma=0.98"),
        ("", "gamma=0.98", "gamma=0.98"),
    ],
)
def test_an_exchange_is_named(settings: str, knobs: str, text: str) -> None:
    world = "MysteryPath-Grid" if "0.95" in knobs else "MiniGrid-MemoryS13"
    _, reading = named_reading(world, "sparse", "GRU", "none", "", "", settings, knobs)
    assert str(reading) == text


@pytest.mark.parametrize(
    ("environment", "view"),
    [("MysteryPath-Grid", ()), ("MiniGrid-MemoryS13", ()), ("MiniGrid-MemoryS13", ("view=7",)),
     ("TinyReproduce", ())],
)  # fmt: skip
def test_the_suites_reading_is_known_by_its_options(
    environment: str, view: tuple[str, ...]
) -> None:
    """As `benchmarks/reproduce.py` writes them into `results/`."""
    args = argparse.Namespace(environment=environment, suite="paper", bonus_options=[])
    args.environment_options, args.settings, args.knobs = list(view), [], []
    reproduce.as_in_suite(args)
    given = (args.environment_options, args.settings, args.knobs)
    world, settings, knobs = (" ".join(each) for each in given)

    def reading(*options: str, bonus: str = "none", reward: str = "sparse") -> Reading:
        arm, found = named_reading(environment, reward, "GRU", bonus, *options)
        assert arm in published_summaries()
        return found

    chosen = {
        bonus: reproduce.changed(reproduce.bonus_options(args, bonus), {})
        for bonus in ("none", "e3b", "noveld")
    }
    for bonus, options in chosen.items():
        assert reading(world, options, settings, knobs, bonus=bonus).of_suite
    turned = " ".join(reversed(settings.split()))
    assert str(reading(world, "", turned, knobs)) == "suite paper"
    others = [
        reading(f"{world} show_goal=true", "", settings, knobs),
        reading(world, "layers=1", settings, knobs),
        reading(world, "", settings, knobs, bonus="e3b"),
        reading(world, chosen["noveld"], settings, knobs, bonus="e3b"),
        reading(world, "", f"{settings} clip=0.1", knobs),
        reading(world, "", settings.removesuffix(" critic_width=256"), knobs),
        reading(world, "", settings, "gamma=0.5"),
        reading(world, "", settings, f"{knobs} bonus_coef=0.1"),
    ]
    if view:
        flat = settings.replace("encoder=small-cnn ", "")
        others.append(reading(world, "", flat, knobs))
        assert "encoder=mlp" in others[-1].settings.split()
    elif environment != "TinyReproduce":
        assert reading(world, "", settings, knobs, reward="distractor").of_suite
        others.append(reading("", "", settings, knobs, reward="distractor"))
    assert not any(other.of_suite for other in others)


def test_a_reading_does_not_depend_on_the_order_in_which_it_was_written() -> None:
    settings = ["gae_lambda=0.995", "target_kl=1e9", "truncation=end", "critic_width=256"]
    arm = ("TinyReproduce", "sparse", "GRU", "none", "", "")
    orders = (settings, settings[::-1], sorted(settings))
    assert len({named_reading(*arm, " ".join(each), "gamma=0.95") for each in orders}) == 1


def test_options_of_a_memory_are_part_of_its_reading() -> None:
    args = argparse.Namespace(environment="TinyReproduce", suite="paper")
    args.environment_options, args.settings, args.knobs = [], [], []
    args.architecture_options = ["study_code=true"]
    reproduce.as_in_suite(args)
    own = reproduce.changed(reproduce.memory_options(args, "RetNet"), {})
    settings, knobs = " ".join(args.settings), " ".join(args.knobs)

    def text(settings: str) -> str:
        return str(
            named_reading("TinyReproduce", "sparse", "RetNet", "none", "", "", settings, knobs)[1]
        )

    assert text(settings) == "suite paper"
    assert text(f"{settings} {own}") != "suite paper"
    assert "study_code=true" in text(f"{settings} {own}")


def test_values_exchanged_in_another_world_are_not_the_suites() -> None:
    shared = ("gae_lambda=0.995 target_kl=1e9 truncation=end critic_width=256", "gamma=0.95")
    arm = ("sparse", "GRU", "none", "", "")
    assert named_reading("TinyReproduce", *arm, *shared)[1].of_suite
    assert not named_reading("MiniGrid-MemoryS13", *arm, *shared)[1].of_suite


def test_the_suites_reading_counts_from_half_of_the_steps_on(trained: list[TrainedArm]) -> None:
    """Other readings stay beside it, however short they are."""
    claim = next(c for c in CLAIMS if c.says == "NovelD lifts GRU on MemoryS13")
    found = judge(claim, trained, published_summaries())
    assert found.outcome == "holds"
    assert {each.share > 0.5 for each in found.found if not each.reading.of_suite} == {False}
    short = [
        dataclasses.replace(each, curves=tuple(curve[:120] for curve in each.curves))
        for each in trained
    ]
    assert judge(claim, short, published_summaries()).outcome.startswith("not trained yet")


def test_the_suites_reading_decides_a_claim(trained: list[TrainedArm]) -> None:
    """The others are counted beside it."""
    claim = next(c for c in CLAIMS if c.says == "E3B lifts RetNet on MemoryS13")
    found = judge(claim, trained, published_summaries())
    (suites,) = (each for each in found.found if each.reading.of_suite)
    assert (found.outcome, suites.outcome) == ("holds", "holds")
    others = [each for each in found.found if not each.reading.of_suite]
    assert {each.outcome for each in others} == {"does not hold"}
    assert found.in_words == f"HOLDS; other readings: does not hold in {len(others)}"


def test_a_claim_is_judged_over_the_same_evaluations(trained: list[TrainedArm]) -> None:
    claim = next(c for c in CLAIMS if c.first[1:3] == ("aligned", "RetNet"))
    found = judge(claim, trained, published_summaries())
    (short,) = (e for e in found.found if str(e.reading) == "show_goal=true")
    e3b, none = (of(trained, arm, "show_goal=true") for arm in (claim.first, claim.second))
    assert e3b.evaluations < none.evaluations
    assert short.steps == e3b.steps

    def tails(arm: TrainedArm) -> list[float]:
        cut = [curve[: e3b.evaluations] for curve in arm.curves]
        return [float(np.mean(curve[-round(len(curve) / 5) :])) for curve in cut]

    welch = stats.ttest_ind(tails(e3b), tails(none), equal_var=False).confidence_interval()
    assert (short.difference.low, short.difference.high) == pytest.approx(welch, abs=0.01)
    assert found.published.estimate == pytest.approx(0.61 - 0.75)


@pytest.mark.parametrize(
    ("expected", "low", "high", "outcome"),
    [
        ("above", 0.1, 0.2, "holds"), ("above", -0.1, 0.2, "open"),
        ("above", -0.2, 0.04, "does not hold"), ("above", -0.2, -0.1, "does not hold"),
        ("below", -0.2, -0.1, "holds"), ("below", -0.04, 0.2, "does not hold"),
        ("below", -0.06, 0.2, "open"), ("like", -0.04, 0.04, "holds"),
        ("like", -0.06, 0.14, "open"), ("like", 0.11, 0.2, "does not hold"),
        ("like", 0.01, 0.07, "holds"), ("like", -0.2, -0.11, "does not hold"),
        ("above", np.nan, np.nan, "open"),
    ],
)  # fmt: skip
def test_outcomes(expected: str, low: float, high: float, outcome: str) -> None:
    claim = Claim("", "", ARM, ARM, expected)  # pyright: ignore[reportArgumentType]
    assert claim.outcome(Interval((low + high) / 2, low, high, (5, 5), "")) == outcome


def test_every_claim_holds_of_the_published_figures() -> None:
    for claim in CLAIMS:
        found = judge(claim, [], published_summaries()).published
        assert claim.outcome(found) == "holds", claim.says


def test_what_was_not_trained_is_said(trained: list[TrainedArm]) -> None:
    none = judge(CLAIMS[0], [], published_summaries())
    assert none.in_words == "NOT TRAINED YET AS IN SUITE PAPER"
    assert f"{len(CLAIMS)} are not trained yet" in overview([])[0]
    claims, arms, _, _, readings = tables(trained)
    assert len(claims.rows) >= len(CLAIMS)
    assert len(arms.rows) == len(trained)
    assert readings.rows


def test_arms_whose_seeds_were_printed_are_summarised_by_them() -> None:
    with resources.files("clew.analysis.published").joinpath("seed_vectors.csv").open() as file:
        wanted = {"environment": "mystery_path", "architecture": "RetNet", "bonus": "e3b"}
        seeds = [
            float(row["tail_mean"])
            for row in csv.DictReader(file)
            if all(row[name] == value for name, value in wanted.items())
        ]
    found = published_summaries()
    assert found[ARM].mean == pytest.approx(statistics.mean(seeds))
    assert found[ARM].std == pytest.approx(statistics.stdev(seeds))
    assert (found[ARM].n, found[ARM].rounded) == (len(seeds), 0)
    assert found["MysteryPath-Grid", "aligned", "RetNet", "e3b"].rounded == 0.005
    assert len(found) == 180


def test_a_mean_of_differences_is_wrong_one_time_in_twenty() -> None:
    """Of arms that are alike, with spreads and numbers of seeds that differ."""
    rng, wrong = np.random.default_rng(0), 0

    def arm(spread: float, n: int) -> ArmSummary:
        return ArmSummary.of(rng.normal(0.5, spread, n))

    for _ in range(2000):
        pairs = [(arm(spread, 5), arm(spread, 10)) for spread in (0.02, 0.05, 0.2)]
        wrong += mean_difference(pairs).excludes(0)
    assert 0.035 < wrong / 2000 < 0.065


def test_one_memory_over_the_rewards_of_a_world(trained: list[TrainedArm]) -> None:
    """RetNet with E3B is higher than published under every reward of MysteryPath."""
    theirs = published_summaries()
    count, gap = together(trained, theirs)["MysteryPath-Grid", "RetNet", "e3b"]
    arms = [arm for arm in theirs if (arm[0], *arm[2:]) == ("MysteryPath-Grid", "RetNet", "e3b")]
    ours = [of(trained, arm, "suite paper").summary().mean for arm in arms]
    gaps = [mean - theirs[arm].mean for mean, arm in zip(ours, arms, strict=True)]
    assert count == len(arms) == 4
    assert gap.estimate == pytest.approx(statistics.mean(gaps))
    assert 0 < gap.low < min(gaps)


def test_the_pace_is_when_five_evaluations_hold_the_threshold(trained: list[TrainedArm]) -> None:
    """By hand, of the arm that the paper speaks of most on MemoryS13."""
    arm = ("MiniGrid-MemoryS13", "sparse", "GRU", "e3b")
    found = of(trained, arm, "suite paper")
    when = []
    for curve in found.curves:
        held = [i for i in range(len(curve) - 4) if curve[i : i + 5].sum() > 3.75 - 1e-6]
        when += [(held[0] + 5) * found.period / 1e6] if held else []
    sections = dict(pace(trained).sections)
    rows = {
        (memory.text, bonus.text): rest for memory, bonus, *rest in sections["S13 / sparse to .75"]
    }
    ours, published = rows["GRU", "E3B"]
    assert ours.text == f"{statistics.median(when):.1f} ({len(when)}/10)"
    assert published.text == "6.7 (10/10)"
    assert rows["GRU", "none"][1].text == "never (0/10)"


def test_the_picture_keeps_worlds_whole() -> None:
    """In two columns of about the same length, or in one."""
    worlds = {"MysteryPath-Grid": 4, "MiniGrid-MemoryS13": 1, "MiniGrid-MemoryS13[view=7]": 2}
    arms = [(world, "sparse", str(i), "none") for world, n in worlds.items() for i in range(n)]
    assert _columns(arms) == [arms[:4], arms[4:]]
    assert _columns(arms[:4]) == [arms[:4]]


@pytest.mark.parametrize("suffix", [".md", ".html", ".png"])
def test_the_command(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / f"paper{suffix}"
    report(Path("paper"), out=out)
    printed = capsys.readouterr().out
    assert re.match(r"\d+ of \d+ arms agree with the paper, and of \d+ comparisons", printed)
    assert "E3B lifts RetNet on MysteryPath: HOLDS" in printed
    told = " ".join(printed.split())
    assert "P4, On MemoryS13, the bonus makes the cue more decodable. published not" in told
    assert "ours NOT EVALUABLE, untrained_auc is 1.000, above 0.9: suite paper" in told
    assert out.stat().st_size > 1000
    assert suffix == ".png" or "three details" in out.read_text(encoding="utf-8")


def test_a_file_of_another_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for option in ({"against": "x"}, {"json": Path("-")}, {"margin": 0.1}, {"proof_seconds": 1.0}):
        with pytest.raises(BadInput, match="takes --out only"):
            report(Path("paper"), **option)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"paper\.doc.*\.md"):
        report(Path("paper"), out=tmp_path / "paper.doc")


@pytest.mark.parametrize("suite", ["paper", "paper-literal"])
def test_every_arm_of_the_studys_suites_has_a_published_one(suite: str) -> None:
    """Whatever options a reading needs."""
    arms, _ = name_arms([run.config for run in find_suite(suite).runs()])
    named = {(_as_published(arm.environment), *arm[1:4]) for arm in arms}
    assert named == set(published_summaries())
