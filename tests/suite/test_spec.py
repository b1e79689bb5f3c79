"""What makes two runs the same: all that decides their results, in one spelling, and no more."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.learner import Knobs, Settings
from clew.suite import RunSpec, from_config
from clew.validate import BadInput

BASE = RunSpec(
    environment="MiniGrid-MemoryS13",
    environment_options=(("max_steps", 90),),
    reward="penalty",
    architecture="RetNet",
    architecture_options=(("heads", 2),),
    bonus="e3b",
    bonus_options=(("ridge", 0.5),),
    seed=3,
    steps=10**6,
    knobs=Knobs(),
    settings=Settings(),
)
CHANGES: list[dict[str, Any]] = [
    {"environment": "MiniGrid-MemoryS11"},
    {"environment_options": (("max_steps", 91),)},
    {"environment_options": ()},
    {"environment_options": (("max_steps", 90), ("view", 5))},
    {"reward": "sparse"},
    {"architecture": "GRU", "architecture_options": ()},
    {"architecture_options": (("heads", 8),)},
    {"architecture_options": (("full_block", True), ("heads", 2))},
    {"bonus": "noveld", "bonus_options": ()},
    {"bonus": "none", "bonus_options": ()},
    {"bonus_options": (("ridge", 0.25),)},
    {"bonus_options": (("normalise", False), ("ridge", 0.5))},
    {"seed": 4},
    {"steps": 10**6 + 1},
]
# another valid value for every knob and setting: a new field must be put here
OTHER: dict[str, Any] = {
    "learning_rate": 2e-4, "gamma": 0.9, "entropy": 0.1, "bonus_coef": 0.5,
    "envs": 32, "steps": 256, "chunk": 32, "chunks_per_batch": 16, "epochs": 2, "clip": 0.1,
    "gae_lambda": 0.9, "truncation": "end", "value_coef": 0.5, "max_grad_norm": 1.0,
    "target_kl": 0.1, "encoder": "mlp", "encoder_width": 64, "encoder_hidden": 64,
    "memory_width": 64, "critic_width": 32, "shared": True, "eval_every": 5, "eval_episodes": 10,
    "precision": "default",
}  # fmt: skip


def every_change() -> list[RunSpec]:
    found = [dataclasses.replace(BASE, **change) for change in CHANGES]
    for part in ("knobs", "settings"):
        before = getattr(BASE, part)
        for field in dataclasses.fields(before):
            after = dataclasses.replace(before, **{field.name: OTHER[field.name]})
            found.append(dataclasses.replace(BASE, **{part: after}))
    return found


def test_every_field_makes_another_run() -> None:
    runs = [BASE, *every_change()]
    assert len({run.identity for run in runs}) == len(set(runs)) == len(runs)


@pytest.mark.parametrize("run", [BASE, *every_change()])
def test_a_configuration_comes_back_from_json(run: RunSpec) -> None:
    again = from_config(json.loads(json.dumps(run.config)))
    assert again == run
    assert again.identity == run.identity


@pytest.mark.parametrize(
    "same",
    [
        {"environment_options": (("view", 3), ("max_steps", 90))},  # 3 is the default
        {"architecture_options": (("full_block", False), ("heads", 2))},
        {"bonus_options": (("ridge", 0.5), ("clip", 10), ("normalise", True))},
        {"knobs": Knobs(learning_rate=1e-4, gamma=0.995)},
        {"settings": Settings(value_coef=1)},
        {"settings": Settings(clip=0.2, shared=False)},
    ],
)
def test_another_spelling_is_no_other_run(same: dict[str, Any]) -> None:
    run = dataclasses.replace(BASE, **same)
    assert run == BASE
    assert run.identity == BASE.identity


def test_whole_numbers_will_do_where_numbers_are_meant() -> None:
    pairs = ((1, 1.0), (0, 0.0), (0.0, -0.0))
    for one, other in pairs:
        runs = [
            dataclasses.replace(BASE, knobs=Knobs(entropy=entropy, gamma=abs(entropy)))
            for entropy in (one, other)
        ]
        assert len({run.identity for run in runs}) == 1
    for option in ("ridge", "max_score"):
        runs = [dataclasses.replace(BASE, bonus_options=((option, x),)) for x in (2, 2.0)]
        assert len({run.identity for run in runs}) == 1


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0.1, 9))
def test_none_does_not_care_what_a_bonus_would_be_worth(coefficient: float, clip: float) -> None:
    plain = dataclasses.replace(BASE, bonus="none", bonus_options=())
    run = dataclasses.replace(
        plain, knobs=Knobs(bonus_coef=coefficient), bonus_options=(("clip", clip),)
    )
    assert run == plain
    assert run.identity == plain.identity


def test_true_is_not_one() -> None:
    """They are equal as keys; what was made for one must not be handed out for the other."""
    one = dataclasses.replace(BASE, environment_options=(("max_steps", 1),))
    assert one.env.horizon == 1
    for strange in (True, 1.0):
        with pytest.raises(BadInput, match="max_steps"):
            _ = dataclasses.replace(BASE, environment_options=(("max_steps", strange),)).config


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": -1}, "seed=-1"),
        ({"seed": 2**32}, "seed=4294967296"),
        ({"steps": 81919}, "steps=81919.*81920"),
        ({"steps": 2**31}, "steps=2147483648"),
        ({"environment": "Maze"}, "environment 'Maze'"),
        ({"architecture": "GPT"}, "architecture 'GPT'"),
        ({"bonus": "luck"}, "bonus 'luck'"),
        ({"environment_options": (("views", 3),)}, "did you mean 'view'"),
        ({"architecture_options": (("width", 3),)}, "option of RetNet 'width'"),
    ],
)
def test_what_cannot_be_run_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        dataclasses.replace(BASE, **change)


@pytest.mark.parametrize("spoil", [{"knobs": {"gama": 1}}, {"settings": 3}, {"bonus_options": 3}])
def test_what_is_no_configuration_is_refused(spoil: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="not the configuration of a run"):
        from_config({**BASE.config, **spoil})
    with pytest.raises(BadInput, match="not the configuration of a run"):
        from_config({})
