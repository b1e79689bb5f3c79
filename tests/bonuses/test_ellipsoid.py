"""The kernel of E3B's scores is its loop, and is made of what a GPU's compiler knows."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import kernels
from clew.bonuses import ellipsoid

RUNS, ENVS, STEPS, FEATURES = 2, 3, 7, 16


def rollouts(dtype: Any, features: int = FEATURES) -> tuple[Any, ...]:
    """Of several runs: roots, features before, whether an episode begins, features after."""
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(RUNS, ENVS, features, features))
    before, after = rng.normal(size=(2, RUNS, STEPS, ENVS, features))
    first = rng.random((RUNS, STEPS, ENVS)) < 0.3
    assert first.any()
    assert not first.all((1, 2)).any()
    return tuple(
        jnp.asarray(x, x.dtype if x is first else dtype) for x in (roots, before, first, after)
    )


@pytest.mark.parametrize("count_first", [False, True])
@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_the_kernel_is_the_loop(ridge: float, count_first: bool) -> None:
    """By the interpreter of kernels, in float64, vmapped over runs."""
    with jax.enable_x64(True):
        given = rollouts(jnp.float64)
        options = {"ridge": ridge, "count_first": count_first}
        looped = jax.vmap(partial(ellipsoid.by_loop, **options))(*given)
        fused = jax.vmap(partial(ellipsoid.by_kernel, **options, interpret=True))(*given)
    for a, b in zip(looped, fused, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.skipif(jax.__version_info__ >= (0, 11), reason="jax 0.11 lowers kernels on GPUs only")
@pytest.mark.parametrize("features", [16, 64, 128])
def test_a_gpu_can_compile_it(features: int) -> None:
    """It uses no operation that Triton does not have."""
    kernel = jax.vmap(partial(ellipsoid.by_kernel, ridge=1.0, count_first=True))
    traced = jax.jit(kernel).trace(*rollouts(jnp.float32, features))
    assert "triton" in traced.lower(lowering_platforms=("cuda",)).as_text()


def test_a_device_that_can_has_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its result, not only its compilation."""
    monkeypatch.setattr(kernels, "on_nvidia", lambda: True)
    monkeypatch.setattr(ellipsoid, "_compiles", lambda *_: True)
    monkeypatch.setattr(ellipsoid, "by_kernel", lambda *given: ("the kernel's", *given[4:]))
    one_run = [x[0] for x in rollouts(jnp.float32)]
    assert ellipsoid.distances(*one_run, ridge=2.0, count_first=False) == ("the kernel's", 2, False)


def test_a_device_that_cannot_is_left_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said once."""
    monkeypatch.setattr(kernels, "on_nvidia", lambda: True)
    ellipsoid._compiles.cache_clear()
    given = rollouts(jnp.float32)
    score = jax.jit(jax.vmap(partial(ellipsoid.distances, ridge=1.0, count_first=True)))
    with pytest.warns(UserWarning, match="training is slower"):
        found = score(*given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score(*(x[:1] for x in given))
    ellipsoid._compiles.cache_clear()
    looped = jax.vmap(partial(ellipsoid.by_loop, ridge=1.0, count_first=True))(*given)
    for a, b in zip(found, looped, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_other_sizes_are_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "on_nvidia", lambda: True)
    monkeypatch.setattr(ellipsoid, "_compiles", lambda *_: pytest.fail("a kernel was asked for"))
    one_run = [x[0] for x in rollouts(jnp.float32, features=48)]
    ellipsoid.distances(*one_run, ridge=1.0, count_first=True)
