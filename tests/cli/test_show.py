"""`clew show`: the right run, its facts, and a GIF of its agent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from PIL import Image

from clew.cli.commands.show import BARS, find_run, show, sparkline
from clew.cli.episode_gif import BORDER
from clew.envs.canvas import GREEN, RED
from clew.learner.playing import actor_from_arrays, play_episodes
from clew.store import Store, scan
from clew.suite import from_config
from clew.validate import BadInput


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_beginning_means_one_run_or_is_refused(trained: Path, data: st.DataObject) -> None:
    store = Store(trained, read_only=True)
    row = data.draw(st.sampled_from(scan(store)))
    whole = data.draw(st.sampled_from([row.name, str(row.identity)]))
    asked = whole[: data.draw(st.integers(1, len(whole)))]
    others = [r for r in scan(store) if r.name.startswith(asked)]
    others = others or [r for r in scan(store) if str(r.identity).startswith(asked)]
    if len(others) == 1:
        assert find_run(store, asked) == row.path
    else:
        with pytest.raises(BadInput, match=f"could be {len(others)} runs"):
            find_run(store, asked)


def test_an_unknown_run_is_answered_with_the_nearest(trained: Path) -> None:
    store = Store(trained, read_only=True)
    name = next(store.folders()).name
    wrong = name.replace("memoryless", "memroyless")
    with pytest.raises(BadInput, match=f"no run '{wrong}'.*{name}"):
        find_run(store, wrong)


def test_what_it_prints_and_records(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = next(r for r in scan(Store(trained, read_only=True)) if r.config["bonus"] == "none")
    file = tmp_path / "new" / "episodes.gif"
    show(row.name, store=trained, gif=file, episodes=3)
    said = capsys.readouterr().out
    assert "TinyReproduce[k=2,v=2] / dense / Memoryless / none" in said
    assert f"{row.result['tail_mean']:.3f}" in said
    assert re.search(f"[{BARS}]{{10}}", said)
    assert "agent.npz" in said
    found = re.search(r"(\d) of 3 episodes succeeded, (\d+) steps", said)
    assert found is not None
    with Image.open(file) as image:
        # every state of three episodes: one more than there are steps
        assert image.n_frames == int(found[2]) + 3  # type: ignore[attr-defined]
        ends = [pixel for pixel in _corners(image) if pixel in (GREEN, RED)]
    assert len(ends) == 3
    assert ends.count(GREEN) == int(found[1])


def test_as_json(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = scan(Store(trained, read_only=True))[0]
    show(str(row.identity), store=trained, gif=tmp_path / "episodes.gif", episodes=1, json=True)
    about = json.loads(capsys.readouterr().out)
    assert about["config"] == row.config
    assert about["result"] == row.result
    assert Path(about["gif"]["path"]).exists()
    show(row.name, store=trained, episodes=0, json=True)
    assert "gif" not in json.loads(capsys.readouterr().out)


def test_the_actor_plays_as_it_was_evaluated(trained: Path) -> None:
    """Without a memory, its success does not depend on the path by which it is played."""
    store = Store(trained, read_only=True)
    row = scan(store)[0]
    weights = store.run(row.config).agent()
    assert weights is not None
    program = from_config(row.config).program()
    agent = actor_from_arrays(program, weights)
    episodes = list(play_episodes(program, agent, 0, 60))
    rate = np.mean([episode.success for episode in episodes])
    spread = 3 * (0.25 / 60 + 0.25 / (20 * row.result["evaluations"] / 5)) ** 0.5
    assert abs(rate - row.result["tail_mean"]) < spread
    assert all(len(e.states) == len(e.actions) + 1 for e in episodes)
    first, *rest = weights
    with pytest.raises(BadInput, match=first):
        actor_from_arrays(program, {name: weights[name] for name in rest})
    with pytest.raises(BadInput, match="should be"):
        actor_from_arrays(program, {**weights, first: weights[first][..., None]})


@given(st.lists(st.floats(0, 1) | st.just(float("nan")), max_size=300))
def test_sparklines(values: list[float]) -> None:
    drawn = sparkline(values)
    assert len(drawn) == min(60, len(values))
    assert set(drawn) <= {*BARS, " "}
    if len(values) <= 60:
        for bar, value in zip(drawn, values, strict=True):
            assert bar == " " if np.isnan(value) else BARS.index(bar) <= 8 * value


def _corners(image: Image.Image) -> list[object]:
    found = []
    for index in range(image.n_frames):  # type: ignore[attr-defined]
        image.seek(index)
        found.append(image.convert("RGB").getpixel((BORDER // 2, BORDER // 2)))
    return found
