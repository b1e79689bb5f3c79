"""Two histories that look the same: found, told in words, and drawn as strips and films."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from PIL import Image

from clew import envs
from clew.cli.commands import classify as command
from clew.envs.canvas import BLUE, ORANGE
from clew.machines import classify, examine, from_env, gallery
from clew.machines.deciding.contrasts import confused, contrasts, future
from clew.machines.draw import draw_histories
from clew.machines.model.ends import with_end
from clew.machines.model.pomdp import Pomdp
from clew.validate import BadInput
from tests.machines.known_machines import cue_machine
from tests.machines.test_gym import TMaze


def law(pomdp: Pomdp, history: tuple[int, ...], action: int) -> dict[tuple, Fraction]:
    """Pr(o', over, r | h, a), by adding up all ways to the end of the history."""
    now = {}
    for s, o, p in pomdp.start:
        if o == history[0]:
            now[s] = now.get(s, Fraction(0)) + p
    for done, seen in zip(history[1::2], history[2::2], strict=True):
        after: dict[int, Fraction] = {}
        for s, p in now.items():
            for b in pomdp.steps[s][done]:
                if b.observation == seen and b.state not in pomdp.over:
                    after[b.state] = after.get(b.state, Fraction(0)) + p * b.probability
        now = after
    found: dict[tuple, Fraction] = {}
    for s, p in now.items():
        for b in pomdp.steps[s][action]:
            key = (b.observation, b.state in pomdp.over, b.reward)
            found[key] = found.get(key, Fraction(0)) + p * b.probability / sum(now.values())
    return found


@pytest.mark.parametrize("name", gallery.names())
def test_they_end_alike_and_the_action_tells_them_apart(name: str) -> None:
    answer = classify(gallery.make(name), limit=300)
    pairs = contrasts(answer)
    assert pairs or not answer.bound.distinctions.route
    for pair in pairs:
        one, two = pair.histories
        assert one != two
        assert one[-1] == two[-1]
        if pair.action is not None:
            laws = [law(answer.pomdp, history, pair.action) for history in pair.histories]
            assert laws[0] != laws[1]
            for history, expected in zip(pair.histories, laws, strict=True):
                said = future(answer, history, pair.action).law
                assert {(o, over, r): p for o, over, r, p in said} == expected


def test_good_play_differs_after_what_the_cue_machine_keeps_apart() -> None:
    pomdp = gallery.make("Cue")
    answer = classify(pomdp)
    assert confused(examine(cue_machine(pomdp))) == []
    (pair,) = contrasts(answer)
    good = [future(answer, history, pair.action).good for history in pair.histories]
    assert [[pomdp.actions[a] for a in some] for some in good] == [["pickA"], ["pickB"]]


@pytest.mark.parametrize("end", ["stops", "absorbing", "hidden"])
def test_a_film_shows_the_states_of_the_episode(end: Any) -> None:
    world = envs.make("TinyReproduce", k=2, v=2)
    pomdp = with_end(from_env(world), end)
    assert pomdp.film is not None
    begin, states, history = pomdp.start[0], [], []
    now, _ = world.start(np.array([int(x) for x in _sequence(pomdp, begin.state)], np.int32))
    expected = [world.picture(jax.device_get(now))]
    states, history = [begin.state], [begin.observation]
    for action in (0, 1, 1, 0):
        (branch,) = pomdp.steps[states[-1]][action]
        if states[-1] not in pomdp.terminal:
            now, _ = world.step(now, jax.numpy.int32(action), jax.random.key(7))
        states.append(branch.state)
        history += [action, branch.observation]
        expected.append(world.picture(jax.device_get(now)))
    shown = pomdp.film(states, history)
    assert len(shown) == 5
    for one, other in zip(shown, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def _sequence(pomdp: Pomdp, state: int) -> str:
    return "".join(c for c in str(pomdp.variables["sequence"][state]) if c.isdigit())


class Seen(TMaze):
    """A T-maze that draws its place and its cue."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    broken = False

    def __init__(self, render_mode: str | None = None):
        self.render_mode = render_mode

    def render(self) -> Any:
        if self.broken:
            raise ImportError("pygame is not installed")
        return np.full((20, 30, 3), (40 * self.x, 200 * self.cue, 7), np.uint8)


def test_pictures_of_a_gymnasium_environment(tmp_path: Path) -> None:
    assert from_env(Seen()).film is None
    answer = classify(from_env(Seen("rgb_array")))
    draw_histories(answer, contrasts(answer), tmp_path / "maze.png")
    picture = np.asarray(Image.open(tmp_path / "maze.png"))
    for x in range(4):
        for cue in (0, 1):
            assert _has(picture, (40 * x, 200 * cue, 7)), (x, cue)
    broken = Seen("rgb_array")
    broken.broken = True
    answer = classify(from_env(broken))
    with pytest.raises(BadInput, match=r"cannot be drawn \(ImportError: pygame is not installed"):
        draw_histories(answer, contrasts(answer), tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()

    class Grey(Seen):
        def render(self) -> Any:
            return super().render()[..., 0]

    answer = classify(from_env(Grey("rgb_array")))
    with pytest.raises(BadInput, match=r"shape \(20, 30\), not \[y, x, 3\]"):
        draw_histories(answer, contrasts(answer), tmp_path / "none.png")


def test_a_large_picture_is_made_smaller(tmp_path: Path) -> None:
    class Large(Seen):
        def render(self) -> Any:
            return super().render().repeat(50, 0).repeat(50, 1)

    answer = classify(from_env(Large("rgb_array")))
    draw_histories(answer, contrasts(answer), tmp_path / "maze.png")
    with Image.open(tmp_path / "maze.png") as picture:
        assert picture.width < 4 * 300 + 400


def test_a_strip_a_film_and_the_machine_from_a_shell(tmp_path: Path, capsys: Any) -> None:
    files = tuple(tmp_path / name for name in ("pair.png", "pair.gif", "machine.svg"))
    command.classify("TMaze", draw=files)
    assert "--draw FILE.png draws these histories" in capsys.readouterr().out
    strip = np.asarray(Image.open(files[0]))
    assert _has(strip, ORANGE)  # where they first differ
    assert _has(strip, BLUE)  # where they look the same
    with Image.open(files[1]) as film:
        assert getattr(film, "n_frames", 1) == 5  # four steps to the junction
        assert film.width < strip.shape[1]
    assert b"<svg" in files[2].read_bytes()


def test_long_names_and_long_histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pomdp = gallery.make("TMaze", length=12)
    seen = tuple(name * 20 for name in pomdp.observations)
    answer = classify(dataclasses.replace(pomdp, observations=seen))
    monkeypatch.setattr("clew.machines.draw.strips.FRAMES", 4)
    for file in ("long.png", "long.gif"):
        draw_histories(answer, contrasts(answer), tmp_path / file)
    with Image.open(tmp_path / "long.png") as strip, Image.open(tmp_path / "long.gif") as film:
        assert strip.width < 1500
        assert getattr(film, "n_frames", 1) <= 4
        film.seek(film.n_frames - 1)  # type: ignore[attr-defined]
        assert _has(np.asarray(film.convert("RGB")), BLUE)


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no two histories to draw"):
        command.classify("gymnasium:FrozenLake-v1", json=True, draw=(tmp_path / "x.png",))


def _has(picture: np.ndarray, colour: tuple[int, int, int]) -> bool:
    return bool((picture[..., :3] == colour).all(-1).any())
