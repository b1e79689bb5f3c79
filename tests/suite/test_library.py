"""The suites that ship: the study's registry, value by value, as its appendix prints it."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from typing import Any

import pytest

from clew.bonuses import bonuses
from clew.memory.registry import architectures
from clew.suite import RunSpec, find_suite, names
from clew.validate import BadInput

SIX = {"GRU", "LSTM", "RetNet", "GatedDeltaNet", "Mamba-2", "Memoryless"}
THREE = {"none", "e3b", "noveld"}

# Shared defaults
KNOBS = {"learning_rate": 1e-4, "gamma": 0.995, "entropy": 0.008, "bonus_coef": 0.03}
SETTINGS = {
    "envs": 16, "steps": 512, "chunk": 64, "chunks_per_batch": 32, "epochs": 4, "clip": 0.2,
    "gae_lambda": 0.95, "value_coef": 1.0, "max_grad_norm": 0.5,
    "encoder_width": 128, "encoder_hidden": 256, "eval_every": 10, "eval_episodes": 20,
}  # fmt: skip
# What each environment's table overrides
KNOBS_OF = {
    "MysteryPath-Grid": {},
    "MiniGrid-MemoryS13": {"learning_rate": 3e-4, "gamma": 0.999},
    "TinyReproduce": {"learning_rate": 1e-3},
}
SETTINGS_OF = {
    "MysteryPath-Grid": {},
    "MiniGrid-MemoryS13": {"gae_lambda": 0.98, "chunk": 32},
    "TinyReproduce": {},
}
BUDGETS = {
    "MysteryPath-Grid": 20_000_000,
    "MiniGrid-MemoryS13": 20_000_000,
    "TinyReproduce": 10_000_000,
}
# environment, its options, reward: what it pays
STANDING = (("revisit", "standing"),)
VARIANTS: dict[tuple[str, Any, str], dict[str, float]] = {
    ("MysteryPath-Grid", STANDING, "sparse"): {"goal": 1},
    ("MysteryPath-Grid", STANDING, "penalty"): {"goal": 1, "fall": -0.008},
    ("MysteryPath-Grid", STANDING, "aligned"): {"goal": 1, "progress": 0.1},
    ("MysteryPath-Grid", STANDING, "distractor"): {
        "goal": 1, "revisit": 0.1 / 128, "returned": 0.1 / 128,
    },
    ("MiniGrid-MemoryS13", STANDING, "sparse"): {"goal": 1},
    ("MiniGrid-MemoryS13", STANDING, "penalty"): {"goal": 1, "move": -1 / 845},
    ("MiniGrid-MemoryS13", STANDING, "distractor"): {"goal": 1, "revisit": 0.1 / 845},
    ("MiniGrid-MemoryS13", (("view", 7),), "sparse"): {"goal": 1},
    ("TinyReproduce", (), "dense"): {"correct": 1 / 10},
    ("TinyReproduce", (), "sparse"): {"total": 1 / 10},
}  # fmt: skip


@pytest.fixture(scope="module")
def paper() -> list[RunSpec]:
    return find_suite("paper").runs()


def world(run: RunSpec) -> tuple[str, Any, str]:
    return run.environment, run.environment_options, run.reward


def test_the_matrix_is_the_papers(paper: list[RunSpec]) -> None:
    assert len(paper) == len({run.identity for run in paper}) == 1800
    cells = Counter((world(run), run.architecture, run.bonus) for run in paper)
    expected = {(v, a, b) for v in VARIANTS for a in SIX for b in THREE}
    assert set(cells) == expected
    assert set(cells.values()) == {10}
    seeds: dict[Any, set[int]] = {}
    for run in paper:
        seeds.setdefault((world(run), run.architecture, run.bonus), set()).add(run.seed)
    assert all(found == set(range(10)) for found in seeds.values())


def test_every_hyperparameter_is_the_papers_with_discount_and_lambda_exchanged(
    paper: list[RunSpec],
) -> None:
    for run in paper:
        config = run.config
        printed = {**KNOBS, **KNOBS_OF[run.environment]}
        settings = {**SETTINGS, **SETTINGS_OF[run.environment]}
        knobs = {**printed, "gamma": settings["gae_lambda"]}
        settings["gae_lambda"] = printed["gamma"]
        if run.bonus == "none":
            knobs["bonus_coef"] = 0.0
        assert config["knobs"] == knobs
        assert {name: config["settings"][name] for name in settings} == settings
        assert run.steps == BUDGETS[run.environment]
        assert run.architecture_options == ()


def test_what_the_paper_leaves_open_is_read_in_one_way(paper: list[RunSpec]) -> None:
    at_an_end = {"layers": 2, "boundary": "unpaid"}
    read = {
        "none": {},
        "e3b": {**at_an_end, "max_score": 100, "last_pairs": False},
        "noveld": at_an_end,
    }
    suites = ("probe", "lambda-sweep", "lambda-bracket")
    for run in [*paper, *(run for name in suites for run in find_suite(name).runs())]:
        assert dict(run.bonus_options) == read[run.bonus]
        settings = run.settings
        assert (settings.truncation, settings.target_kl, settings.critic_width) == ("end", 1e9, 256)
        assert (run.knobs.gamma, settings.gae_lambda) in ((0.95, 0.995), (0.98, 0.999))


def test_what_the_registry_leaves_open_is_the_same_for_all(paper: list[RunSpec]) -> None:
    open_ = [
        {k: v for k, v in run.config["settings"].items() if k not in (*SETTINGS, "encoder")}
        for run in paper
    ]
    assert all(each == open_[0] for each in open_)
    for run in paper:
        wide = run.environment_options == (("view", 7),)
        assert run.settings.encoder == ("small-cnn" if wide else "auto")


def test_rewards_pay_what_the_tables_say(paper: list[RunSpec]) -> None:
    paid = {world(run): run.prices for run in paper}
    assert paid.keys() == VARIANTS.keys()
    for variant, prices in VARIANTS.items():
        assert paid[variant] == pytest.approx(prices), variant


def test_horizons_and_sizes(paper: list[RunSpec]) -> None:
    env = {run.environment: run.env for run in paper}
    found = {name: world.horizon for name, world in env.items()}
    assert found == {"MysteryPath-Grid": 128, "MiniGrid-MemoryS13": 845, "TinyReproduce": 19}
    tiny: Any = env["TinyReproduce"]
    assert (tiny.k, tiny.v) == (10, 4)


def test_architectures_have_the_papers_options_without_being_told() -> None:
    def default(name: str, option: str) -> Any:
        return inspect.signature(architectures[name].factory()).parameters[option].default

    assert default("RetNet", "heads") == 4
    assert default("GatedDeltaNet", "assoc_size") == 64
    assert [default("Mamba-2", each) for each in ("heads", "states", "expand")] == [4, 64, 2]
    assert bonuses["e3b"].factory()().normalise


def test_the_papers_text_differs_where_it_says_otherwise() -> None:
    told = find_suite("paper-literal").runs()
    assert len(told) == 1800
    assert {run.knobs.gamma for run in told if run.environment == "TinyReproduce"} == {0.99}
    options = {run.environment_options for run in told if run.environment == "MysteryPath-Grid"}
    assert options == {(("actions", "cardinal"), ("show_goal", True))}
    assert {run.bonus_options for run in told} == {()}
    assert {(run.settings.truncation, run.settings.target_kl) for run in told} == {
        ("bootstrap", 0.05)
    }


def test_the_sweep_of_the_coefficient() -> None:
    runs = find_suite("lambda-sweep").runs()
    cells = Counter((run.architecture, run.knobs.bonus_coef) for run in runs)
    memories, coefficients = ("GRU", "RetNet", "GatedDeltaNet"), (0.003, 0.01, 0.03)
    assert cells == {(a, c): 6 for a in memories for c in coefficients}
    pairs = {(run.knobs.learning_rate, run.settings.chunk) for run in runs}
    assert pairs == {(rate, chunk) for rate in (1e-4, 2.5e-4) for chunk in (32, 64, 128)}
    assert {world(run) for run in runs} == {("MysteryPath-Grid", STANDING, "sparse")}
    assert {(run.bonus, run.seed, run.steps) for run in runs} == {("e3b", 0, 20_000_000)}


def test_the_bracket_of_the_coefficient() -> None:
    runs = find_suite("lambda-bracket").runs()
    assert {run.architecture for run in runs} == {"RetNet", "GatedDeltaNet"}
    assert len(runs) == 2
    found = {(world(run), run.bonus, run.knobs.bonus_coef, run.steps) for run in runs}
    assert found == {(("MysteryPath-Grid", STANDING, "sparse"), "e3b", 0.1, 5_000_000)}


def test_the_probed_runs_are_runs_of_the_paper(paper: list[RunSpec]) -> None:
    runs = find_suite("probe").runs()
    assert {run.identity for run in runs} < {run.identity for run in paper}
    cells = Counter((world(run)[0], run.reward, run.architecture, run.bonus) for run in runs)
    assert len(cells) == 18
    assert set(cells.values()) == {2}
    assert len(runs) == 36


@pytest.mark.parametrize("name", names())
def test_every_suite_says_what_it_is(name: str) -> None:
    suite = find_suite(name)
    assert suite.name == name
    (number,) = re.findall(r"\b([\d,]+) runs", suite.about)
    assert len({run.identity for run in suite.runs()}) == int(number.replace(",", ""))


@pytest.mark.parametrize("name", ["demo", "probe", "lambda-sweep", "lambda-bracket"])
def test_every_agent_can_be_built(name: str) -> None:
    for run in find_suite(name).runs():
        run.program()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper", "paper-literal"])
def test_every_agent_of_the_large_suites_can_be_built(name: str) -> None:
    for run in find_suite(name).runs():
        run.program()


def test_a_misspelt_suite_gets_a_hint() -> None:
    with pytest.raises(BadInput, match=r"suite='papre'.*'lambda-sweep'.*did you mean 'paper'"):
        find_suite("papre")
    with pytest.raises(BadInput, match=r"'mine\.toml' is not a file"):
        find_suite("mine.toml")
