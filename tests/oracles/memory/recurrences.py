"""What each reference computes, one step of time after the other, in numpy and nothing else.

Each function takes a golden file's config and arrays and returns the file's outputs by name.
`python -m tests.oracles.memory.recurrences` prints how far they are from the recorded ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "memory"
Arrays = dict[str, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def silu(x: np.ndarray) -> np.ndarray:
    return x * sigmoid(x)


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, 0)


def rms(x: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)


def l2(x: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt((x**2).sum(-1, keepdims=True) + eps)


def gru(config: dict[str, Any], a: Arrays) -> Arrays:
    h, ys = a["initial_h"], []
    for x in a["xs"].swapaxes(0, 1):
        of_x = np.split(x @ a["weight_ih"].T + a["bias_ih"], 3, axis=-1)
        of_h = np.split(h @ a["weight_hh"].T + a["bias_hh"], 3, axis=-1)
        r, z = (sigmoid(u + v) for u, v in zip(of_x[:2], of_h[:2], strict=True))
        n = np.tanh(of_x[2] + r * of_h[2])
        h = (1 - z) * n + z * h
        ys.append(h)
    return {"ys": np.stack(ys, 1), "final_h": h}


def lstm(config: dict[str, Any], a: Arrays) -> Arrays:
    h, c, ys = a["initial_h"], a["initial_c"], []
    bias = a["bias_ih"] + a["bias_hh"]
    for x in a["xs"].swapaxes(0, 1):
        i, f, g, o = np.split(x @ a["weight_ih"].T + h @ a["weight_hh"].T + bias, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        ys.append(h)
    return {"ys": np.stack(ys, 1), "final_h": h, "final_c": c}


def mamba2(config: dict[str, Any], a: Arrays) -> Arrays:
    heads, p, n = config["num_heads"], config["head_dim"], config["state_size"]
    groups, inner = config["n_groups"], heads * p
    in_bias, out_bias = a.get("in_proj/bias", 0.0), a.get("out_proj/bias", 0.0)

    def unroll(conv: np.ndarray, ssm: np.ndarray) -> Arrays:
        ys = []
        for x in a["xs"].swapaxes(0, 1):
            zxbcdt = x @ a["in_proj/weight"].T + in_bias
            z, dt = zxbcdt[:, :inner], softplus(zxbcdt[:, -heads:] + a["dt_bias"])
            conv = np.concatenate([conv[..., 1:], zxbcdt[:, inner:-heads, None]], -1)
            vbc = silu((conv * a["conv1d/weight"][:, 0]).sum(-1) + a["conv1d/bias"])
            v = vbc[:, :inner].reshape(-1, heads, p)
            b, c = (
                vbc[:, inner:].reshape(-1, 2, groups, n).repeat(heads // groups, 2).swapaxes(0, 1)
            )
            keep = np.exp(-dt * np.exp(a["A_log"]))[..., None, None]
            ssm = keep * ssm + (dt[..., None] * v)[..., None] * b[..., None, :]
            y = (ssm * c[..., None, :]).sum(-1) + a["D"][:, None] * v
            y = rms(y.reshape(-1, inner) * silu(z), config["layer_norm_epsilon"])
            ys.append((y * a["norm/weight"]) @ a["out_proj/weight"].T + out_bias)
        return {"ys": np.stack(ys, 1), "final_conv": conv, "final_ssm": ssm}

    outputs = unroll(a["initial_conv"], a["initial_ssm"])
    outputs |= {f"{name}_steps": value for name, value in outputs.items()}
    fresh = unroll(np.zeros_like(a["initial_conv"]), np.zeros_like(a["initial_ssm"]))
    return outputs | {"ys_fresh": fresh["ys"]}


def gated_delta_step(
    state: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One step of state [batch, head, key, value]: the next state and what q reads from it."""
    state = np.exp(g)[..., None, None] * state
    error = v - np.einsum("bhkv,bhk->bhv", state, k)
    state = state + k[..., None] * (beta[..., None] * error)[..., None, :]
    return state, np.einsum("bhkv,bhk->bhv", state, q) / q.shape[-1] ** 0.5


def gated_delta_rule(config: dict[str, Any], a: Arrays) -> Arrays:
    outputs = {}
    for suffix in ("", "_raw"):
        state, ys = a["initial_state"], []
        for t in range(a["query"].shape[1]):
            q, k, v, g, beta = (a[key][:, t] for key in ("query", "key", "value", "g", "beta"))
            if not suffix:
                q, k = l2(q, config["l2norm_eps"]), l2(k, config["l2norm_eps"])
            state, y = gated_delta_step(state, q, k, v, g, beta)
            ys.append(y)
        for form in ("chunk", "recurrent"):
            outputs[f"ys_{form}{suffix}"] = np.stack(ys, 1)
            outputs[f"final_{form}{suffix}"] = state
    return outputs


def gated_delta_net(config: dict[str, Any], a: Arrays) -> Arrays:
    kh, vh = config["linear_num_key_heads"], config["linear_num_value_heads"]
    dk, dv, share = config["linear_key_head_dim"], config["linear_value_head_dim"], vh // kh
    cuts = (dk, 2 * dk, 2 * dk + share * dv)

    def unroll(conv: np.ndarray, state: np.ndarray) -> Arrays:
        ys = []
        for x in a["xs"].swapaxes(0, 1):
            batch = len(x)
            qkvz = (x @ a["in_proj_qkvz/weight"].T).reshape(batch, kh, -1)
            q, k, v, z = (part.reshape(batch, -1) for part in np.split(qkvz, cuts, axis=-1))
            ba = (x @ a["in_proj_ba/weight"].T).reshape(batch, kh, 2, share)
            beta = sigmoid(ba[:, :, 0].reshape(batch, vh))
            g = -np.exp(a["A_log"]) * softplus(ba[:, :, 1].reshape(batch, vh) + a["dt_bias"])
            conv = np.concatenate([conv[..., 1:], np.concatenate([q, k, v], -1)[..., None]], -1)
            qkv = silu((conv * a["conv1d/weight"][:, 0]).sum(-1))
            q, k, v = np.split(qkv, (kh * dk, 2 * kh * dk), axis=-1)
            q, k = (
                l2(part.reshape(batch, kh, dk), config["l2norm_eps"]).repeat(share, 1)
                for part in (q, k)
            )
            state, o = gated_delta_step(state, q, k, v.reshape(batch, vh, dv), g, beta)
            o = rms(o, config["rms_norm_eps"]) * a["norm/weight"] * silu(z.reshape(batch, vh, dv))
            ys.append(o.reshape(batch, -1) @ a["out_proj/weight"].T)
        return {"ys": np.stack(ys, 1), "final_conv": conv, "final_state": state}

    outputs = unroll(a["initial_conv"], a["initial_state"])
    outputs |= {f"{name}_steps": value for name, value in outputs.items()}
    fresh = unroll(np.zeros_like(a["initial_conv"]), np.zeros_like(a["initial_state"]))
    return outputs | {"ys_fresh": fresh["ys"]}


def retention(config: dict[str, Any], a: Arrays) -> Arrays:
    heads, half = config["num_heads"], config["embed_dim"] // config["num_heads"] // 2
    angle = np.repeat(10000.0 ** -np.linspace(0, 1, half), 2)
    gamma = 1 - 2.0 ** (-5 - np.arange(heads))
    length = a["xs"].shape[1]

    def emit(o: np.ndarray) -> np.ndarray:
        """From what was read, [batch, time, head, value], to the layer's output."""
        o = rms(o, config["layernorm_eps"]).reshape(*a["xs"].shape[:2], -1)
        return (silu(a["xs"] @ a["g_proj/weight"].T) * o) @ a["out_proj/weight"].T

    def resume(kv: np.ndarray, scale: np.ndarray, start: int) -> tuple[np.ndarray, ...]:
        q, k, v = _rotated(config, a, angle, start)
        os = []
        for t in range(length):
            before, scale = scale, gamma * scale + 1
            new = v[:, t, :, :, None] * k[:, t, :, None, :]
            weight = gamma * np.sqrt(before / scale)
            kv = weight[:, None, None] * kv + new / np.sqrt(scale)[:, None, None]
            os.append((kv * q[:, t, :, None, :]).sum(-1))
        return emit(np.stack(os, 1)), kv, scale

    q, k, v = _rotated(config, a, angle, 0)
    ys, kv, scale = resume(np.zeros_like(a["initial_kv"]), np.zeros(heads), 0)
    resumed = resume(a["initial_kv"], a["initial_scale"], config["resumed_at"])
    return {
        "angle": angle,
        "decay": np.log(gamma),
        "ys": emit(_parallel(q, k, v, gamma)),
        "ys_chunkwise": emit(_chunkwise(q, k, v, gamma, config["chunk_size"])),
        "ys_recurrent": ys,
        "final_kv": kv,
        "final_scale": scale,
        "ys_resumed": resumed[0],
        "final_kv_resumed": resumed[1],
        "final_scale_resumed": resumed[2],
    }


def _rotated(
    config: dict[str, Any], a: Arrays, angle: np.ndarray, start: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, k [batch, time, head, key], turned by their place in time, and v."""
    batch, length, _ = a["xs"].shape
    q, k, v = (
        (a["xs"] @ a[f"{name}_proj/weight"].T).reshape(batch, length, config["num_heads"], -1)
        for name in "qkv"
    )
    turn = ((start + np.arange(length))[:, None] * angle)[:, None, :]

    def rotate(x: np.ndarray) -> np.ndarray:
        quarter = np.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
        return x * np.cos(turn) + quarter * np.sin(turn)

    return rotate(q), rotate(k * k.shape[-1] ** -0.5), v


def _parallel(q: np.ndarray, k: np.ndarray, v: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    s, os = 0.0, []
    total, signed = np.zeros_like(gamma), np.zeros_like(k[:, 0])
    for t in range(q.shape[1]):
        s = gamma[:, None, None] * s + k[:, t, :, :, None] * v[:, t, :, None, :]
        signed = gamma[:, None] * signed + k[:, t]
        total = gamma * total + 1
        root = np.sqrt(total)[:, None]
        divisor = np.maximum(np.abs((q[:, t] * signed).sum(-1, keepdims=True)) / root, 1)
        os.append(np.einsum("bhk,bhkv->bhv", q[:, t], s) / root / divisor)
    return np.stack(os, 1)


def _chunkwise(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, gamma: np.ndarray, size: int
) -> np.ndarray:
    batch, length, heads, dims = q.shape
    whole = sum(gamma**i for i in range(size))
    s, s_scale = np.zeros((batch, heads, dims, v.shape[-1])), np.ones((batch, heads, 1))
    os = []
    for first in range(0, length, size):
        inside, total = 0.0, np.zeros_like(gamma)
        for t in range(first, first + size):
            total = gamma * total + 1
            root, since = np.sqrt(total)[:, None], t - first + 1
            inside = gamma[:, None, None] * inside + k[:, t, :, :, None] * v[:, t, :, None, :]
            # The sum of the absolute weights within the chunk, for the divisor.
            back = gamma[:, None] ** np.arange(since)[::-1]
            dots = np.einsum("bhk,bshk->bhs", q[:, t], k[:, first : t + 1])
            weights = np.abs(dots * back / root).sum(-1, keepdims=True)
            divisor = np.maximum(np.maximum(weights, 1), s_scale)
            memory = inside + (gamma**since * whole)[:, None, None] * s
            os.append(np.einsum("bhk,bhkv->bhv", q[:, t], memory) / root / divisor)
        s = (gamma**size)[:, None, None] * s + inside / whole[:, None, None]
        s_scale = np.maximum(np.abs(s).sum(-2).max(-1, keepdims=True), 1)
    return np.stack(os, 1)


def gtrxl(config: dict[str, Any], a: Arrays) -> Arrays:
    width, heads, window = config["width"], config["heads"], config["window"]
    rate = 10000.0 ** (-np.arange(0, width, 2) / width)

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        return x @ a[f"{name}.weight"].T + a.get(f"{name}.bias", 0.0)

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        normed = rms(x - x.mean(-1, keepdims=True), config["layer_norm_eps"])
        return normed * a[f"{name}.weight"] + a[f"{name}.bias"]

    def gate(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        r = sigmoid(linear(f"{name}.Wr", y) + linear(f"{name}.Ur", x))
        z = sigmoid(linear(f"{name}.Wz", y) + linear(f"{name}.Uz", x) - a[f"{name}.bg"])
        return (1 - z) * x + z * np.tanh(linear(f"{name}.Wg", y) + linear(f"{name}.Ug", r * x))

    def unroll(past: list[np.ndarray]) -> np.ndarray:
        ys = []
        for x in a["xs"].swapaxes(0, 1):
            past = [*past, x][-window - 1 :]
            seen = norm("layernorm1", np.stack(past, 1))
            angle = np.arange(len(past))[::-1, None] * rate
            p = np.concatenate((np.sin(angle), np.cos(angle)), -1)
            q = linear("attention.attention_q.0", seen[:, -1]).reshape(len(x), heads, -1)
            k, v = np.split(linear("attention.attention_kv.0", seen), 2, -1)
            k, v = (part.reshape(*part.shape[:2], heads, -1) for part in (k, v))
            r = linear("attention.project_pos.0", p).reshape(len(past), heads, -1)
            score = np.einsum("bhd,bjhd->bhj", q + a["u"], k)
            score = (score + np.einsum("bhd,jhd->bhj", q + a["v"], r)) / q.shape[-1] ** 0.5
            weight = np.exp(score - score.max(-1, keepdims=True))
            weight /= weight.sum(-1, keepdims=True)
            o = np.einsum("bhj,bjhd->bhd", weight, v).reshape(len(x), -1)
            e = gate("gate1", x, np.maximum(linear("attention.project.0", o), 0))
            hidden = np.maximum(linear("mlp.0.0", norm("layernorm2", e)), 0)
            ys.append(gate("gate2", e, np.maximum(linear("mlp.2.0", hidden), 0)))
        return np.stack(ys, 1)

    ys = unroll(list(a["initial_inputs"].swapaxes(0, 1)))
    return {"ys": ys, "ys_steps": ys, "ys_fresh": unroll([])}


def lru(config: dict[str, Any], a: Arrays) -> Arrays:
    decay = np.exp(-np.exp(a["nu_log"]) + 1j * np.exp(a["theta_log"]))
    b, c = (a[f"{name}_re"] + 1j * a[f"{name}_im"] for name in "BC")

    def unroll(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ys = []
        for x in a["xs"].swapaxes(0, 1):
            s = decay * s + np.exp(a["gamma_log"]) * (x @ b.T)
            ys.append((s @ c.T).real + a["D"] * x)
        return np.stack(ys, 1), s

    def gated(y: np.ndarray) -> np.ndarray:
        erf = np.vectorize(math.erf)(y / 2**0.5)
        value, gate = np.split(y * (1 + erf) / 2 @ a["glu/weight"].T + a["glu/bias"], 2, -1)
        return value * sigmoid(gate)

    start = a["initial_re"] + 1j * a["initial_im"]
    ys, final = unroll(start)
    outputs = {"ys_linear": ys, "ys": gated(ys), "ys_fresh": gated(unroll(0 * start)[0])}
    return outputs | {"final_re": final.real, "final_im": final.imag}


def mingru(config: dict[str, Any], a: Arrays) -> Arrays:
    def unroll(h: np.ndarray) -> Arrays:
        ys = []
        for x in a["xs"].swapaxes(0, 1):
            candidate, gate = np.split(x @ a["to_hidden_and_gate/weight"].T, 2, -1)
            g = np.where(candidate >= 0, candidate + 0.5, sigmoid(candidate))
            h = (1 - sigmoid(gate)) * h + sigmoid(gate) * g
            ys.append(h @ a["to_out/weight"].T)
        return {"ys": np.stack(ys, 1), "final_h": h}

    outputs = unroll(a["initial_h"])
    outputs |= {f"{name}_steps": value for name, value in outputs.items()}
    return outputs | {"ys_fresh": unroll(np.zeros_like(a["initial_h"]))["ys"]}


def ffm(config: dict[str, Any], a: Arrays) -> Arrays:
    m, out = config["memory_size"], config["out"]
    decay = np.exp(a["ffa/a"][0, 0][:, None] + 1j * a["ffa/b"][0, 0])

    def unroll(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ys = []
        for x in a["xs"].swapaxes(0, 1):
            pre = x @ a["pre/weight"].T + a["pre/bias"]
            y, thru, into, show = np.split(pre, (m, m + out, 2 * m + out), -1)
            s = decay * s + (y * sigmoid(into))[..., None]
            z = np.stack((s.real, s.imag), -1).reshape(len(x), -1) @ a["mix/weight"].T
            z = z + a["mix/bias"]
            z = rms(z - z.mean(-1, keepdims=True), config["layer_norm_eps"])
            ys.append(z * sigmoid(show) + thru * (1 - sigmoid(show)))
        return np.stack(ys, 1), s

    start = a["initial_re"] + 1j * a["initial_im"]
    ys, final = unroll(start)
    outputs = {"ys": ys, "ys_steps": ys, "ys_fresh": unroll(0 * start)[0]}
    return outputs | {"final_re": final.real, "final_im": final.imag}


def mlstm(config: dict[str, Any], a: Arrays) -> Arrays:
    heads, cap = config["num_heads"], config["gate_soft_cap"]

    def unroll(c: np.ndarray, n: np.ndarray, m: np.ndarray, eps: float) -> Arrays:
        ys = []
        for x in a["xs"].swapaxes(0, 1):
            q, k, v = ((x @ a[f"{p}/weight"].T).reshape(len(x), heads, -1) for p in "qkv")
            i, f = (x @ a[f"{p}gate_preact/weight"].T + a[f"{p}gate_preact/bias"] for p in "if")
            i, f = (cap * np.tanh(gate / cap)[..., None] for gate in (i, f))
            before, log_f = m, -softplus(-f)
            m = np.maximum(log_f + before, i)
            keep, write = np.exp(log_f + before - m), np.exp(i - m)
            c = keep[..., None] * c + write[..., None] * k[..., None] * v[:, :, None, :]
            n = keep * n + write * k
            q = q / q.shape[-1] ** 0.5
            weight = np.maximum(np.abs((q * n).sum(-1, keepdims=True)), np.exp(-m)) + eps
            h = np.einsum("bhkv,bhk->bhv", c, q) / weight
            h = rms(h - h.mean(-1, keepdims=True), config["norm_eps"]).reshape(len(x), -1)
            h = sigmoid(x @ a["ogate_preact/weight"].T) * h * a["multihead_norm/weight"]
            ys.append(h @ a["out_proj/weight"].T)
        return {"ys": np.stack(ys, 1), "final_c": c, "final_n": n, "final_m": m}

    start = [a[f"initial_{part}"] for part in "cnm"]
    whole = unroll(*start, 0.0)
    fresh = unroll(*map(np.zeros_like, start), 0.0)["ys"]
    shipped = unroll(*start, config["eps"])["ys"]
    return whole | {"ys_steps": whole["ys"], "ys_fresh": fresh, "ys_shipped": shipped}


RECURRENCES: dict[str, Callable[[dict[str, Any], Arrays], Arrays]] = {
    "gru": gru,
    "lstm": lstm,
    "mamba2": mamba2,
    "mamba2-grouped": mamba2,
    "gated-delta-rule": gated_delta_rule,
    "gated-delta-rule-repeated": gated_delta_rule,
    "gated-delta-net": gated_delta_net,
    "retention": retention,
    "retention-default": retention,
    "gtrxl": gtrxl,
    "lru": lru,
    "mingru": mingru,
    "ffm": ffm,
    "mlstm": mlstm,
}


def load(name: str) -> tuple[dict[str, Any], Arrays]:
    with np.load(GOLDEN / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    return json.loads(str(arrays.pop("config"))), arrays


def gaps(name: str) -> dict[str, float]:
    """The largest absolute difference from the recorded array, by output."""
    config, arrays = load(name)
    ours = RECURRENCES[name](config, arrays)
    assert sorted(ours) == sorted(config["outputs"]), name
    assert all(ours[key].shape == arrays[key].shape for key in ours), name
    return {key: float(np.abs(ours[key] - arrays[key]).max()) for key in ours}


def main() -> None:
    for name in RECURRENCES:
        found = gaps(name)
        print(f"{name:26}", f"{max(found.values()):.1e}", max(found, key=lambda key: found[key]))


if __name__ == "__main__":
    main()
