"""Making memories by name, what they say of themselves, and initial weights."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import memory
from clew.memory.architectures.gated_delta_net import GatedDeltaNet
from clew.memory.architectures.gru import GRU
from clew.memory.architectures.lru import LRU
from clew.memory.architectures.lstm import LSTM
from clew.memory.chunkwise import unit_lower_inverse
from clew.memory.description import describe, table
from clew.validate import BadInput
from tests.memory.conftest import build

KEY = jax.random.key(0)


def test_the_six_of_the_study() -> None:
    six = {"GRU", "LSTM", "RetNet", "GatedDeltaNet", "Mamba-2", "Memoryless"}
    assert six <= set(memory.names())


def test_the_documented_table_is_todays() -> None:
    page = Path(__file__).parents[2] / "docs" / "concepts" / "memories.md"
    with jax.enable_x64(False):
        assert table(describe()) in page.read_text()


@pytest.mark.parametrize("name", memory.names())
def test_a_pack_is_made_by_vmap(name: str) -> None:
    keys = jax.random.split(KEY, 2)
    pack = eqx.filter_vmap(lambda key: memory.make(name, 8, 16, key=key))(keys)
    alone = memory.make(name, 8, 16, key=keys[1])
    second = jax.tree.map(lambda leaf: leaf[1], pack)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), second, alone)


def test_descriptions_are_counted_not_claimed() -> None:
    with jax.enable_x64(False):
        of = {one.name: one for one in describe(in_size=8, width=16)}
    assert of["Memoryless"].state_bytes == 0
    assert of["GRU"].parameters == 3 * 16 * 8 + 3 * 16 * 16 + 2 * 3 * 16
    assert of["GRU"].state_bytes == 16 * 4
    assert of["RetNet"].state_bytes == 4 * 4 * 4 * 4
    assert not of["GRU"].parallel
    assert of["Mamba-2"].parallel
    assert all(one.flops_per_step > 2 * 16 * 8 for one in of.values())


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("gru", {}, "unknown architecture 'gru'.*'GRU'"),
        ("GRU", {"heads": 2}, "unknown option of GRU 'heads'.*'norm'"),
        ("RetNet", {"heads": 3}, "heads=3 .* divide width=16"),
        ("RetNet", {"heads": 16, "full_block": True}, "heads=16 .* even size"),
        ("Mamba-2", {"states": 0}, "states=0 .* at least 1"),
        ("Mamba-2", {"heads": 5}, "heads=5 .*expand × width=32"),
        ("GatedDeltaNet", {"assoc_size": 1.5}, "assoc_size=1.5 .* whole number"),
        ("GTrXL", {"window": 0}, "window=0 .* at least 1"),
        ("GTrXL", {"layers": 0}, "layers=0 .* at least 1"),
        ("GTrXL", {"heads": 3}, "heads=3 .* divide width=16"),
        ("LRU", {"states": 0}, "states=0 .* at least 1"),
        ("LRU", {"r_min": 0.9, "r_max": 0.5}, "r_min=0.9 and r_max=0.5 .* r_min < r_max < 1"),
        ("LRU", {"r_max": 1.0}, "r_max=1.0 .* r_max < 1"),
        ("LRU", {"max_phase": 0.0}, "max_phase=0.0 .* above 0"),
        ("minGRU", {"expand": 0}, "expand=0 .* at least 1"),
        ("FFM", {"memory_size": 0}, "memory_size=0 .* at least 1"),
        ("FFM", {"context_size": 2.0}, "context_size=2.0 .* whole number"),
        ("mLSTM", {"heads": 5}, "heads=5 .* divide width=16"),
        ("mLSTM", {"heads": 16}, "heads=16 .* fewer heads than width=16"),
    ],
)
def test_bad_options(name: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        memory.make(name, 8, 16, key=KEY, **options)


def test_initial_weights_are_the_studys() -> None:
    gru = memory.make("GRU", 8, 16, key=KEY)
    assert isinstance(gru, GRU)
    for block in (*jnp.split(gru.of_state.gates.weight, 2), gru.of_state.candidate.weight):
        np.testing.assert_allclose(block @ block.T, np.eye(16), atol=1e-5)
    assert np.abs(gru.of_input.weight).max() <= (6 / (8 + 3 * 16)) ** 0.5
    lstm = memory.make("LSTM", 8, 16, key=KEY)
    assert isinstance(lstm, LSTM)
    assert lstm.of_state.gate_norm is not None
    np.testing.assert_array_equal(lstm.of_state.gate_norm.bias, np.repeat([0, 1, 0, 0], 16))
    delta = memory.make("GatedDeltaNet", 8, 16, key=KEY)
    assert isinstance(delta, GatedDeltaNet)
    np.testing.assert_array_equal(delta.gates.bias, [4, 0])


def test_the_transformers_positions_are_in_pairs() -> None:
    with pytest.raises(BadInput, match="width=15 is not valid"):
        memory.make("GTrXL", 8, 15, heads=3, key=KEY)


def test_the_linear_unit_begins_on_its_ring() -> None:
    made = memory.make("LRU", 8, 16, states=500, r_min=0.5, r_max=0.8, max_phase=1.0, key=KEY)
    assert isinstance(made, LRU)
    decay = made.unit._decay
    size, phase = np.hypot(*decay), np.arctan2(decay.im, decay.re)
    assert 0.5 <= size.min() < 0.51 < 0.79 < size.max() <= 0.8
    assert 0 < phase.min() < 0.01 < 0.99 < phase.max() <= 1
    np.testing.assert_allclose(np.exp(made.unit.log_gain) ** 2 + size**2, 1, atol=1e-6)


def test_a_window_forgets_what_has_left_it() -> None:
    """And a second layer looks back as far again."""
    xs = jax.random.normal(KEY, (12, 8))

    def moved_by(first: jax.Array, layers: int) -> np.ndarray:
        cell = memory.make("GTrXL", 8, 16, window=4, layers=layers, key=KEY)

        @jax.jit
        def run(xs: jax.Array) -> jax.Array:
            return cell.unroll(cell.initial_state(), cell.read(xs), jnp.zeros(12, bool))[1]

        return np.abs(run(xs.at[0].set(first)) - run(xs)).max(1)

    for layers, reach in ((1, 4), (2, 8)):
        moved = moved_by(xs[0] + 1, layers)
        assert (moved[: reach + 1] > 1e-9).all(), moved
        assert (moved[reach + 1 :] == 0).all(), moved


@pytest.mark.parametrize("size", [1, 2, 5, 16, 33])
def test_unit_lower_inverse(size: int) -> None:
    lower = jnp.tril(jax.random.normal(KEY, (size, size)), -1)
    inverse = jax.jit(unit_lower_inverse)(lower)
    np.testing.assert_allclose((jnp.eye(size) + lower) @ inverse, np.eye(size), atol=1e-6)


def test_unit_lower_inverse_with_equal_keys() -> None:
    """All ones below the diagonal: the inverse has −1 beside it and nothing else."""
    lower = jnp.tril(jnp.ones((64, 64)), -1)
    expected = np.eye(64) - np.eye(64, k=-1)
    np.testing.assert_allclose(jax.jit(unit_lower_inverse)(lower), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("variant", "parts"),
    [
        ("Mamba-2", "enter norm mixer"),
        ("GatedDeltaNet, full block", "enter norm delta"),
        ("RetNet, full block", "enter norm retention feed_norm up down"),
    ],
)
def test_names_of_weights_in_stores_stay(variant: str, parts: str) -> None:
    """The blocks share their code, but a checkpoint names each one's parts as it always has."""
    weights = jax.eval_shape(lambda: build(variant))
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(weights)]
    names = [jax.tree_util.keystr(path[:1], simple=True) for path in paths]
    assert list(dict.fromkeys(names)) == parts.split()
