"""What kernels of our own need to know of a GPU: whether it is one for them, and can compile them.

They are Pallas's, by way of Triton, for NVIDIA's GPUs. jax says that it will drop that way; where
it has, or where a GPU cannot compile a kernel, what uses one has a loop that does the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

try:
    from jax.experimental.pallas import triton
except ImportError:
    triton = None


def on_nvidia() -> bool:
    """Whether the default device is NVIDIA's."""
    device = jax.devices()[0]
    return device.platform == "gpu" and "rocm" not in device.client.platform_version


def possible(width: int, dtype: jnp.dtype) -> bool:
    """Whether kernels can be tried: they have arrays of these widths, and this device is one for
    them."""
    fits = width in (16, 32, 64, 128) and dtype == jnp.float32
    return fits and triton is not None and on_nvidia()


def compiler_params(warps: int) -> Any:
    """For kernels of so many times 32 threads."""
    return None if triton is None else triton.CompilerParams(num_warps=warps, num_stages=1)


def compiles(function: Callable[..., Any], *shapes: Any) -> bool:
    """Whether this GPU can compile it; where it cannot, a warning says so.

    An older one has too little memory for a block's state, say.
    """
    try:
        jax.jit(function).lower(*shapes).compile()
    except Exception as error:  # of whatever kind the compiler raises
        message = str(error).partition("\n")[0]
        warnings.warn(
            f"training is slower, since a kernel does not compile: {message}", stacklevel=3
        )
        return False
    return True
