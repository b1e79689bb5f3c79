"""GIF files, read back."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given
from PIL import Image

from clew.envs.canvas import write_gif
from clew.validate import BadInput


def read_back(path: Path) -> tuple[np.ndarray, list[int]]:
    frames, delays = [], []
    with Image.open(path) as image:
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            frames.append(np.asarray(image.convert("RGB")))
            delays.append(int(image.info["duration"]) // 10)
    return np.stack(frames), delays


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gif") / "film.gif"


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 4),
    height=st.integers(1, 90),
    width=st.integers(1, 90),
    colours=st.integers(1, 256),
)
@example(seed=0, n=2, height=200, width=300, colours=256)
@example(seed=0, n=2, height=1, width=1, colours=1)  # two equal frames
def test_every_pixel_comes_back(
    file: Path, seed: int, n: int, height: int, width: int, colours: int
) -> None:
    rng = np.random.default_rng(seed)
    palette = rng.integers(0, 256, (colours, 3), np.uint8)
    frames = palette[rng.integers(0, colours, (n, height, width))]
    delays = rng.integers(2, 300, n).tolist()
    write_gif(file, list(frames), delays)
    found, waits = read_back(file)
    # equal frames become one that lasts longer, so films are compared by the clock
    np.testing.assert_array_equal(np.repeat(found, waits, 0), np.repeat(frames, delays, 0))


def test_of_too_many_colours_the_common_ones_are_exact_and_the_others_near(file: Path) -> None:
    rng = np.random.default_rng(0)
    frame = np.full((64, 64, 3), 7, np.uint8)
    frame[:8] = rng.integers(0, 256, (8, 64, 3))
    write_gif(file, [frame], [5])
    (found,), _ = read_back(file)
    np.testing.assert_array_equal(found[8:], frame[8:])
    apart = np.abs(found[:8].astype(int) - frame[:8]).max(-1)
    assert np.mean(apart) < 40


def test_mistakes(file: Path) -> None:
    small, large = np.zeros((2, 2, 3), np.uint8), np.zeros((3, 2, 3), np.uint8)
    for frames, delays in (([], []), ([small, large], [1, 1]), ([small], [1, 2]), ([small], [-1])):
        with pytest.raises(BadInput):
            write_gif(file, frames, delays)
