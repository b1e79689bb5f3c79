"""`clew show`: the right run, its facts, and a GIF of its agent."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from PIL import Image

from clew.cli import film
from clew.cli.commands.show import BARS, _beside, find_run, show, sparkline
from clew.cli.film import BORDER, LINE
from clew.envs.canvas import GREEN, RED
from clew.learner.playing import Episode, actor_from_arrays, play_episodes
from clew.store import Store, scan
from clew.store.names import HASH
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


def test_agents_side_by_side(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both begin in the same levels; each ends when it ends, and its border says how."""
    runs = [row for row in scan(Store(trained, read_only=True)) if row.config["seed"] == 1]
    one = next(row for row in runs if row.config["bonus"] == "e3b")
    other = next(row for row in runs if row.config["bonus"] == "none")
    file = tmp_path / "film.gif"
    opened = Store(trained, read_only=True)
    for name in ("Memoryless", other.name, other.name[:-3]):
        assert _beside(opened, one.config, name).name == other.name
    show(one.name, trained, ("Memoryless",), file, episodes=3, seed=5, json=True)
    first = json.loads(capsys.readouterr().out)["gif"]
    played = [first, *first["beside"]]
    assert [each["run"] for each in played] == [one.name, other.name]
    show(other.name, trained, (), tmp_path / "alone.gif", episodes=3, seed=5, json=True)
    alone = json.loads(capsys.readouterr().out)["gif"]
    assert played[1] == {name: alone[name] for name in played[1]}
    with Image.open(tmp_path / "alone.gif") as image:
        width = image.width
    with Image.open(file) as image:
        assert image.width == 2 * width
        lengths = zip(*(each["lengths"] for each in played), strict=True)
        ends = np.cumsum([max(both) + 1 for both in lengths]) - 1
        assert image.n_frames == ends[-1] + 1  # type: ignore[attr-defined]
        for episode, end in enumerate(ends):
            image.seek(int(end))
            shown = [image.convert("RGB").getpixel((x, BORDER // 2)) for x in (2, width + 2)]
            outcomes = [each["successes"][episode] for each in played]
            assert shown == [GREEN if success else RED for success in outcomes]
            image.seek(int(ends[episode - 1]) + 1 if episode else 0)
            left, right = np.split(np.asarray(image.convert("RGB")), 2, axis=1)
            picture = slice(BORDER + 2 * LINE, -BORDER - LINE)
            np.testing.assert_array_equal(left[picture], right[picture])


def test_each_film_has_a_name_of_its_own(
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And the command says where it is."""
    monkeypatch.chdir(tmp_path)
    one, other = (row.name for row in scan(Store(trained, read_only=True))[:2])
    for beside, name in (
        ((), f"{one}.gif"),
        (("Memoryless",), f"{one}-beside-Memoryless.gif"),
        (("Memoryless", other), f"{one}-beside-Memoryless-{other[-HASH:]}.gif"),
    ):
        show(one, trained, beside, episodes=1)
        assert f"written: {name}\n" in capsys.readouterr().out
        assert Path(name).exists()


def test_who_cannot_play_beside(trained: Path, tmp_path: Path) -> None:
    store = tmp_path / "results"
    shutil.copytree(trained, store)
    row = scan(Store(store, read_only=True))[0]
    Store(store).run({**row.config, "seed": 9}).begin()
    Store(store).run({**row.config, "environment_options": {"k": 3, "v": 2}}).begin()
    begun = [each.name for each in scan(Store(store, read_only=True)) if each.status == "begun"]
    for name in begun:
        with pytest.raises(BadInput, match=r"cannot play beside it.*name a finished run"):
            show(row.name, store, (name,), tmp_path / "film.gif")
    with pytest.raises(BadInput, match="there is no run 'GRU'"):
        show(row.name, store, ("GRU",), tmp_path / "film.gif")
    assert not (tmp_path / "film.gif").exists()


@pytest.mark.parametrize(("length", "other"), [(0, 4), (700, 3), (299, 640), (301, 301)])
def test_a_long_episode_keeps_its_ends(length: int, other: int) -> None:
    env = SimpleNamespace(picture=lambda state: np.full((5, 200, 3), state % 251, np.uint8))
    agent = film.Agent({"architecture": "GRU", "bonus": "none"}, {})
    longest = max(length, other) + 1
    episode = Episode(list(range(length + 1)), [0] * length, True)
    record = film.Played([True], [length])
    panels = list(film._panels(agent, record, env, episode, longest))  # type: ignore[arg-type]
    assert len(panels) == -(-longest // -(-longest // film.FRAMES)) <= film.FRAMES
    seen = [int(panel[BORDER + 2 * LINE, BORDER, 0]) for panel in panels]
    every = -(-longest // film.FRAMES)
    assert seen[-1] == length % 251
    assert seen[0] == min((longest - 1) % every, length) % 251


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


def test_it_needs_no_extra() -> None:
    """`pandas` stands for what the extra `report` brings."""
    without = "import sys; sys.modules['pandas'] = None; import clew.cli.film"
    subprocess.run([sys.executable, "-c", without], check=True)
