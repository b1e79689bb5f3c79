"""Whole training: runs side by side, resumed, diverged, and alone."""

from __future__ import annotations

import dataclasses
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import bonuses, envs
from clew.learner import Knobs, Pack, execution, from_arrays, periods, to_arrays, train
from clew.learner.execution import Vmapped
from clew.metrics import tail_mean
from clew.validate import BadInput
from tests.learner.conftest import close, one, pack_of, small
from tests.oracles.traces import GOLDEN

SEEDS = (3, 8)


def with_knobs(pack: Pack, **knobs: Any) -> Pack:
    """The same program with other numbers: nothing is compiled again."""
    changed = {name: jnp.asarray(value, jnp.float32) for name, value in knobs.items()}
    return dataclasses.replace(pack, runs=pack.runs._replace(**changed))


def run(pack: Pack, n: int, state: Any = None) -> tuple[Any, list[Any]]:
    state = pack.begin() if state is None else state
    records = []
    for _ in range(n):
        state, record = pack.advance(state)
        records.append(jax.device_get(record))
    return jax.device_get(to_arrays(state)), records


def same(a: Any, b: Any) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.fixture(scope="module")
def pack() -> Pack:
    return pack_of("GRU", "e3b", seeds=SEEDS)


@pytest.fixture(scope="module")
def reference(pack: Pack) -> Any:
    return run(pack, 3)


def test_the_same_seed_gives_the_same_bits(pack: Pack, reference: Any) -> None:
    same(run(pack, 3), reference)


def test_a_run_resumed_from_arrays_goes_on_as_if_nothing_happened(
    pack: Pack, reference: Any
) -> None:
    arrays, early = run(pack, 1)
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as saved:
        state = from_arrays(pack, dict(saved))
    final, late = run(pack, 2, state)
    same((final, early + late), reference)


def test_a_checkpoint_of_another_pack_is_refused(pack: Pack, reference: Any) -> None:
    arrays = reference[0]
    name = next(name for name in arrays if arrays[name].ndim > 2)
    with pytest.raises(BadInput, match=name):
        from_arrays(pack, {**arrays, name: arrays[name][:, :1]})
    with pytest.raises(BadInput, match="only one of them"):
        from_arrays(pack, {k: v for k, v in arrays.items() if k != name})


def test_a_checkpoint_of_an_earlier_version_is_restored() -> None:
    """`tests/golden/store-1` has one; the names of its arrays are older than the code's."""
    (file,) = (GOLDEN / "store-1" / "packs").glob("*/checkpoint-*.npz")
    with np.load(file) as found:
        stored = {k.removeprefix("state/"): found[k] for k in found if k.startswith("state/")}
    pack = pack_of(
        "Memoryless",
        bonuses.make("e3b", hidden=8, features=4),
        seeds=range(2),
        env=envs.make("TinyReproduce", k=2, v=2),
        settings=small(epochs=1, eval_episodes=4, encoder_hidden=8),
    )
    assert any(name.startswith("players/") for name in stored)
    same(to_arrays(from_arrays(pack, stored)), stored)


def test_a_run_is_the_same_whatever_else_is_in_its_pack(pack: Pack) -> None:
    """Up to rounding; what is drawn at random is the same exactly."""
    _, together = run(pack, 1)
    _, alone = run(pack_of("GRU", "e3b", seeds=SEEDS[1:]), 1)
    close(one(alone[0]), one(together[0], 1), 2e-4)
    events = [record[0].rollouts.events for record in (alone, together)]
    np.testing.assert_array_equal(events[0][0, 0], events[1][1, 0])


def test_a_run_without_a_bonus_is_the_same_in_the_program_of_one_but_for_rounding(
    pack: Pack,
) -> None:
    """So `share` of a suite, which trains it there, changes what is compiled and nothing else."""
    alone, _ = run(pack_of("GRU", "none", seeds=SEEDS), 1)
    shared, _ = run(with_knobs(pack, bonus_coef=[0, 0]), 1)
    paid, _ = run(pack, 1)
    weights = [name for name in alone if name.startswith("agent/")]
    assert weights
    for name in weights:
        np.testing.assert_allclose(alone[name], shared[name], rtol=1e-4, atol=1e-6, err_msg=name)
    assert any(np.abs(alone[name] - paid[name]).max() > 1e-5 for name in weights)


def test_the_ratio_is_one_at_the_first_minibatch_of_every_update(reference: Any) -> None:
    for record in reference[1]:
        assert (record.rollouts.report.minibatches > 0).all()
        assert record.rollouts.report.first_ratio_error.max() < 1e-4


def test_prices_and_knobs_are_numbers_of_a_run(pack: Pack, reference: Any) -> None:
    """Doubling one run's prices doubles its reward and leaves the other run as it was."""
    prices = np.array(pack.runs.prices) * np.array([[2.0], [1.0]])
    priced = dataclasses.replace(pack, runs=pack.runs._replace(prices=jnp.float32(prices)))
    _, records = run(priced, 1)
    now, before = records[0].rollouts, reference[1][0].rollouts
    np.testing.assert_allclose(now.reward[0, 0], 2 * before.reward[0, 0], rtol=1e-5)
    same(one(now, 1), one(before, 1))
    same(now.successes[:, 0], before.successes[:, 0])  # prices touch no event


def test_what_is_delivered_is_the_coefficient_times_the_bonus(pack: Pack, reference: Any) -> None:
    _, records = run(with_knobs(pack, bonus_coef=[0.0, 0.5]), 1)
    now, before = records[0].rollouts, reference[1][0].rollouts
    same(now.bonus[:, 0], before.bonus[:, 0])
    assert (now.bonus > 0).all()
    np.testing.assert_allclose(now.delivered[0], 0)
    np.testing.assert_allclose(now.delivered[1], 0.5 * now.normalised[1], rtol=1e-5)


def test_an_update_ends_when_the_policy_has_moved_too_far(pack: Pack) -> None:
    _, records = run(with_knobs(pack, learning_rate=[1e-6, 0.3]), 1)
    counts = records[0].rollouts.report.minibatches[:, 0]
    assert counts[0] == 4  # epochs × chunks / chunks a batch
    assert 1 <= counts[1] < 4


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (lambda state: state.agent.value.layers[0].weight, jnp.nan),
        (lambda state: state.bonus.scale.deviations, jnp.inf),
    ],
)
def test_a_run_that_diverges_is_marked_and_the_others_go_on(
    pack: Pack, reference: Any, where: Callable[[Any], Any], value: float
) -> None:
    """By a weight; by a score of its bonus that was infinite."""

    def spoilt(leaf: Any) -> Any:
        return leaf.at[(0,) * leaf.ndim].set(value)

    arrays, records = run(pack, 3, eqx.tree_at(where, pack.begin(), replace_fn=spoilt))
    assert arrays["diverged"].tolist() == [0, -1]
    for now, before in zip(records, reference[1], strict=True):
        same(one(now, 1), one(before, 1))
        assert np.isnan(now.evaluation.success[0])
        assert np.isnan(now.rollouts.report.mean.value_loss[0]).all()
    for name, now in arrays.items():
        np.testing.assert_array_equal(now[1], reference[0][name][1])


def test_training_from_python(pack: Pack, reference: Any) -> None:
    """`train` is the periods in a row; leftover steps are not spent."""
    seen = []
    length = pack.program.settings.period
    history = train(pack, 3 * length + 5, seen.append)
    assert [progress.period for progress in seen] == [1, 2, 3]
    assert history.evaluated_at.tolist() == [length, 2 * length, 3 * length]
    assert history.rollouts.reward.shape == (2, 3 * pack.program.settings.eval_every)
    same(history.evaluations.success[:, 2], reference[1][2].evaluation.success)
    same(history.tail_mean, history.evaluations.success[:, 2])
    assert history.steps_per_second > 0
    with pytest.raises(BadInput, match="steps=5 is not valid"):
        next(periods(pack, 5))


def test_first_success_is_a_step_of_training(reference: Any) -> None:
    """Two tokens of length three are found by chance at once; the step is inside a rollout."""
    arrays, records = reference
    for i in range(len(SEEDS)):
        successes = np.concatenate([record.rollouts.successes[i] for record in records])
        rollout = small().rollout
        first = arrays["first_success"][i]
        when = np.argmax(successes > 0)
        assert successes[when] > 0
        assert when * rollout < first <= (when + 1) * rollout
        assert first % small().envs == 0


def test_tail_mean() -> None:
    curve = np.arange(20.0).reshape(2, 10)
    assert tail_mean(curve).tolist() == [8.5, 18.5]
    assert tail_mean(curve[:, :1]).tolist() == [0.0, 10.0]
    assert np.isnan(tail_mean(np.array([0.0, np.nan])))


def test_joining(pack: Pack) -> None:
    joined = Pack.join([pack, with_knobs(pack, gamma=[0.5, 0.5])])
    assert len(joined) == 4
    np.testing.assert_allclose(joined.runs.gamma, [0.995, 0.995, 0.5, 0.5])
    with pytest.raises(BadInput, match="2 different programs"):
        Pack.join([pack, pack_of("LSTM", "e3b", knobs=Knobs())])


@pytest.mark.slow
def test_a_pack_does_not_deadlock_on_a_cpu() -> None:
    """With the compiler as users have it. LAPACK in a vmapped program, which networks were begun
    with, hung jaxlib 0.10.2."""
    program = (
        "import dataclasses\n"
        "from clew.learner.execution import Vmapped\n"
        "from tests.learner.conftest import pack_of\n"
        "pack = pack_of('LSTM', 'none', seeds=range(8))\n"
        "pack = dataclasses.replace(pack, executor=Vmapped())\n"
        "print('steps', pack.begin().steps.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"JAX_PLATFORMS": "cpu", "PATH": "", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == f"steps {[0] * 8}\n", done.stderr


def test_a_gpu_s_compiler_is_told_what_the_environment_does_not_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert execution.gpu_options() is None
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setenv("XLA_FLAGS", "")
    options = execution.gpu_options()
    assert options == execution.GPU
    assert jax.jit(lambda x: x + 1, compiler_options=options)(1) == 2  # XLA knows these names
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=true")
    assert set(execution.GPU) - set(execution.gpu_options() or {}) == {"xla_gpu_enable_triton_gemm"}


def test_a_gpu_shared_by_mps_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    usual = execution.gpu_options()
    assert not recwarn
    (tmp_path / "control").touch()
    with pytest.warns(UserWarning, match=r"MPS.*one process with large packs"):
        assert execution.gpu_options() == usual


def test_what_was_compiled_ahead_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By another thread, for an accelerator, before anything of the pack is computed."""
    compiled: list[str] = []

    def listen(event: str, duration_secs: float, **about: str | int) -> None:
        if event.endswith("backend_compile_duration"):
            compiled.append(threading.current_thread().name)

    pack = dataclasses.replace(pack_of("Memoryless", "none"), executor=Vmapped())
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        ahead = threading.Thread(target=pack.ahead(), name="ahead")
        ahead.start()
        ahead.join()
        assert "ahead" in compiled
        compiled.clear()
        again = pack_of("Memoryless", "none")
        state = Vmapped().prepare(again.program, again.runs)
        Vmapped().advance(again.program, again.runs, state)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert compiled == []


def test_a_cpu_and_an_accelerator_train_alike(
    pack: Pack, reference: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an accelerator does differently (vmapped runs, both backbones in one call, the backward
    loops of recurrences) runs here."""
    monkeypatch.setattr(jax, "default_backend", lambda: "an accelerator")
    state, records = run(dataclasses.replace(pack, executor=Vmapped()), 1)
    close(records[0], reference[1][0], 2e-4)
    np.testing.assert_array_equal(
        records[0].rollouts.events[:, 0], reference[1][0].rollouts.events[:, 0]
    )
    assert {name: leaf.shape for name, leaf in state.items()} == {
        name: leaf.shape for name, leaf in reference[0].items()
    }
