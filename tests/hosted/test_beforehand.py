"""What is known of an environment before it is trained on: its time limit, latents and success."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from clew import envs
from clew.cli.beforehand import (
    EQUIVALENT_SEEDS,
    SEEDS,
    doubts,
    require_playable,
    why_no_answer,
)
from clew.envs.hosted import copies
from clew.envs.hosted.copies import require_keys
from clew.envs.hosted.environment import HostedEnvironment
from clew.envs.hosted.recipe import EnvironmentFailed, Recipe
from clew.store import Store
from clew.suite.toml import parse_suite
from clew.validate import BadInput
from tests.cli.called import called
from tests.hosted.small_envs import Walk
from tests.suite.declared import SETTINGS, as_toml, tiny

HERE = "tests.hosted.small_envs"
CARTPOLE = "gymnasium:CartPole-v1"


def hosted(name: str, **options: Any) -> HostedEnvironment:
    env = envs.make(name, **options)
    assert isinstance(env, HostedEnvironment)
    return env


def declared(**block: Any) -> dict[str, Any]:
    usual = {"rewards": ["native"], "architectures": ["GRU"], "seeds": 1, "steps": 768}
    return {"settings": SETTINGS, "block": [{**usual, "bonuses": ["none"], **block}]}


def test_without_a_time_limit_it_is_listed() -> None:
    done = called("list", f"{HERE}:walk")
    assert done.code == 0, done
    told = " ".join(done.out.split())
    assert "6 actions; no time limit of its own, so state one: environment_options = {" in told
    assert "success_key" in told
    listed = json.loads(called("list", f"{HERE}:walk", "--json").out)["environments"]
    assert "state one" in listed[f"{HERE}:walk"]["about"]
    with pytest.raises(BadInput, match="has no time limit"):
        hosted(f"{HERE}:walk")


def test_what_its_function_can_be_given_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = "return gymnasium.make('CartPole-v1')"
    (tmp_path / "has_options.py").write_text(
        f"import gymnasium\n\ndef make(size: int = 5, **rest):\n    {made}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = called("list", "has_options:make")
    assert "size (whole number, default 5)" in done.out
    assert "--environment-options size=5" in done.out
    assert "object, needed" not in done.out


@pytest.mark.parametrize(
    ("name", "needed"),
    [(f"{HERE}:recall", "max_episode_steps=500"),
     (f"{HERE}:walk", "max_episode_steps=500 success_return=1"),
     ("gymnasium:Unsuccessful-v0", "success_return=1")],
)  # fmt: skip
def test_its_example_states_what_is_needed(name: str, needed: str, tmp_path: Path) -> None:
    gymnasium.registry.pop("Unsuccessful-v0", None)
    gymnasium.register("Unsuccessful-v0", f"{HERE}:Walk", max_episode_steps=20)
    _, _, examples = called("list", name).out.replace("\\\n", " ").partition("\nexamples\n")
    _, *words = shlex.split(examples.splitlines()[0])
    assert " ".join(words).endswith(f" --environment-options {needed}")
    done = called(*words, "--dry-run", "--store", str(tmp_path / "store"))
    assert done.code == 0, done


def test_latents_are_looked_for_before_training(tmp_path: Path) -> None:
    require_keys(hosted(f"{HERE}:recall", max_episode_steps=5, latents=["cue", "t"]))
    require_keys(hosted(f"{HERE}:recall", max_episode_steps=9, latents=["is_success"]))
    for latents, words, said in (
        (["queue"], False, "in [0-9,]+ random episodes of .* no such key; it has 'cue', 't' or"),
        (["cues"], False, r"no such key \(did you mean 'cue'\?\); it has"),
        (["words"], True, "is not a whole number"),
    ):
        env = hosted(f"{HERE}:recall", max_episode_steps=5, latents=latents, words=words)
        with pytest.raises(BadInput, match=said):
            require_keys(env)
    file, store = tmp_path / "mine.toml", tmp_path / "store"
    options = {"max_episode_steps": 5, "latents": ["queue"]}
    file.write_text(as_toml(declared(environment=f"{HERE}:recall", environment_options=options)))
    for more in ([], ["--dry-run"]):
        done = called("run", str(file), "--store", str(store), *more)
        assert done.code == 2
        assert done.err.startswith("clew: latents='queue' is not valid: in ")
        assert "caution" not in done.out
        assert not store.exists()


def test_a_latent_that_comes_late_or_seldom_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """What so few random episodes did not show is not refused; if some were whole, it is told."""
    monkeypatch.setattr(copies, "ENOUGH", 10**9)
    seldom = hosted(f"{HERE}:recall", max_episode_steps=5, latents=["won"])
    require_keys(seldom)
    assert "random episodes info has no 'won', and probes are to ask about it; it" in seldom.doubt
    monkeypatch.setattr(copies, "PATIENCE", 0.0)
    slow = hosted(f"{HERE}:recall", max_episode_steps=5, latents=["lost"])
    require_keys(slow)
    assert slow.doubt == ""


def test_a_success_key_is_looked_for_before_training(tmp_path: Path) -> None:
    """In the last info of random episodes."""
    require_keys(hosted(f"{HERE}:recall", max_episode_steps=9, success_key="is_success"))
    for key, said in (
        (
            "is_succes",
            r"has no such key \(did you mean 'is_success'\?\); it has 'cue', 't' or 'is_",
        ),
        ("won", "random episodes of .*:recall the last info has no such key; it has .*say False"),
    ):
        wrong = hosted(f"{HERE}:recall", max_episode_steps=9, success_key=key)
        with pytest.raises(BadInput, match=f"success_key='{key}' is not valid: in .* {said}"):
            require_keys(wrong)
    file, store = tmp_path / "mine.toml", tmp_path / "store"
    options = {"max_episode_steps": 9, "success_key": "won"}
    file.write_text(as_toml(declared(environment=f"{HERE}:recall", environment_options=options)))
    for more in ([], ["--dry-run"]):
        done = called("run", str(file), "--store", str(store), *more)
        assert done.code == 2
        assert done.err.startswith("clew: success_key='won' is not valid: in ")
        assert "caution" not in done.out
        assert not store.exists()


def test_a_success_key_that_few_episodes_did_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told; where none was whole, nothing is known."""
    monkeypatch.setattr(copies, "ENOUGH", 10**9)
    seldom = hosted(f"{HERE}:recall", max_episode_steps=9, success_key="is_succes")
    require_keys(seldom)
    assert "random episodes the last info has no 'is_succes' (did you mean 'is_s" in seldom.doubt
    monkeypatch.setattr(copies, "PATIENCE", 0.0)
    slow = hosted(f"{HERE}:recall", max_episode_steps=9, success_key="lost")
    require_keys(slow)
    assert slow.doubt == ""


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("odd", {"what": "exits", "value": 3}, "could not step: SystemExit: 3 (small_envs.py, li"),
        ("odd", {"what": "sees", "value": "nan"}, "returned NaN in the observation, and ne"),
        ("odd", {"what": "pays", "value": "inf"}, "paid inf, which is no finite reward"),
        ("walk", {}, "does not say when an episode has succeeded: its info has neither"),
        ("lies", {"what": "number", "after": 3}, "returned 7 in the observation, where Discrete"),
    ],
)
def test_what_fails_in_a_random_episode_is_refused_before_anything_is_written(
    tmp_path: Path, name: str, options: dict[str, Any], said: str
) -> None:
    env = hosted(f"{HERE}:{name}", max_episode_steps=9, **options)
    with pytest.raises((BadInput, EnvironmentFailed), match=re.escape(f"{name} {said}")):
        require_keys(env)
    assert hosted(f"{HERE}:{name}", max_episode_steps=9, latents=["x"], **options).doubt == ""
    file, store = tmp_path / "mine.toml", tmp_path / "store"
    stated = {"max_episode_steps": 9, **options}
    file.write_text(as_toml(declared(environment=f"{HERE}:{name}", environment_options=stated)))
    for more in ([], ["--dry-run"]):
        done = called("run", str(file), "--store", str(store), *more)
        assert done.code == 2
        assert done.err.startswith(f"clew: {HERE}:{name} {said}")
        assert "caution" not in done.out
        assert not store.exists()


def test_what_is_trained_already_is_not_played(tmp_path: Path) -> None:
    options = {"max_episode_steps": 9, "what": "exits", "value": 3}
    block = declared(environment=f"{HERE}:odd", environment_options=options)
    suite, store = parse_suite(block, "x"), Store(tmp_path)
    (run,) = suite.runs()
    store.run(run.config).write_failed("why", provenance={})
    require_playable(suite, tmp_path)
    with pytest.raises(BadInput, match="could not step"):
        require_playable(suite, tmp_path, retry=True)


def test_a_threshold_that_belongs_to_a_longer_episode() -> None:
    short = declared(environment=CARTPOLE, environment_options={"max_episode_steps": 100})
    (said,) = doubts(parse_suite(short, "short"))
    assert "a return of 475 counts as one; that was registered for episodes of 500 steps" in said
    assert said.endswith(
        "with max_episode_steps=100 it may be out of reach: state success_return too"
    )
    for options in ({}, {"max_episode_steps": 600}, {"max_episode_steps": 9, "success_return": 9}):
        assert not hosted(CARTPOLE, **options).doubt
    assert not hosted(f"{HERE}:walk", max_episode_steps=3).doubt


def test_a_suite_that_can_give_no_answer(tmp_path: Path) -> None:
    from clew.analysis.stats import effects

    assert (SEEDS, EQUIVALENT_SEEDS) == (effects.SEEDS, effects.EQUIVALENT_SEEDS)
    for changes, said in (
        ({"bonuses": ["none"]}, "none has a bonus"),
        ({"bonuses": ["noveld"]}, "each has a bonus"),
        ({"bonuses": ["none", "e3b"], "seeds": 2}, "at least 3 seeds with a bonus and without"),
        # two learning rates are no more seeds
        ({"bonuses": ["none", "e3b"], "seeds": 2, "knobs": {"gamma": [0.9, 0.8]}}, "here are 2"),
        ({"bonuses": ["none", "e3b"], "seeds": 3}, ""),
    ):
        found = why_no_answer(tiny(**changes))
        assert said in found
        assert bool(said) == bool(found)
    file = tmp_path / "mine.toml"
    block = {"environment": "TinyReproduce", "rewards": ["dense"], "bonuses": ["e3b"]}
    file.write_text(as_toml(declared(**block)))
    told = " ".join(
        called("run", str(file), "--dry-run", "--store", str(tmp_path / "new")).out.split()
    )
    assert "1 run in 1 pack of 1 program" in told
    assert "these runs alone give no answer: each has a bonus" in told


def test_a_limit_that_its_class_has_and_the_modules_of_its_base_classes() -> None:
    class Limited(Walk):
        max_steps = 7

    recipe = Recipe(f"{HERE}:walk")
    assert recipe.limited(gymnasium.Wrapper(Limited())).max_episode_steps == 7
    assert set(recipe.modules(Limited())) == {HERE, __name__}


def test_floats_far_outside_their_space_are_mentioned() -> None:
    """By a caution: many environments do not know the bounds of theirs."""
    for what, options, doubt in (
        (
            "far",
            {},
            "lies returned 50000.0 in the observation under 'b', where Box(1,) of float32 ",
        ),
        ("far", {"obs_scale": 5e4}, ""),
        ("far", {"keys": ["a"]}, ""),
        ("near", {}, ""),
        ("number", {}, ""),  # which is refused where it is trained
    ):
        env = hosted(f"{HERE}:lies", max_episode_steps=9, what=what, **options)
        assert (doubt in env.doubt) if doubt else (env.doubt == "")
    block = {"environment": f"{HERE}:lies", "environment_options": {"what": "far"}}
    block["environment_options"] |= {"max_episode_steps": 9}
    (said,) = doubts(parse_suite(declared(**block), "x"))
    assert said.startswith(f"caution: {HERE}:lies returned 50000.0")
    assert said.endswith(
        "has 0.0 to 1.0; networks see floats as they are, so correct the space, "
        "or state obs_scale, by which they are divided"
    )
