"""How long do all probes of the `probe` suite take, once the states are recorded?

For example `python benchmarks/probes.py --folder /scratch`. The data are synthetic and as large as
they can get: 200 episodes of every run, all as long as the task allows (MysteryPath 128 steps,
MemoryS13 845), states as the suite's memories have them (GRU 128 numbers, LSTM 256, GatedDeltaNet
64 × 64), float16 on disk, memory-mapped. Two seeds of a cell read one file.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from clew.probes.fitting import Dataset, measure

SLICES = {"MysteryPath/sparse": 128, "MysteryPath/aligned": 128, "MemoryS13/sparse": 845}
STATES = {"GRU": 128, "LSTM": 256, "GatedDeltaNet": 4096}
OBSERVATION = 128


def states(path: Path, episode: np.ndarray, cue: np.ndarray, size: int, seed: int) -> np.ndarray:
    """A memory of 48 directions and noise; one direction remembers the cue a little."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((48, size), np.float32) / 7
    grain = rng.standard_normal((4096, size), np.float32) / 10
    out = np.memmap(path, np.float16, "w+", shape=(len(episode), size))
    for start in range(0, len(episode), 4096):
        rows = slice(start, start + 4096)
        latent = rng.standard_normal((len(episode[rows]), 48), np.float32)
        latent[:, 0] += 0.7 * cue[rows]
        np.tanh(latent @ mixing + grain[: len(latent)], out=out[rows], casting="same_kind")
    out.flush()
    return np.memmap(path, np.float16, "r", shape=out.shape)


def suite(folder: Path, episodes: int, longest: int) -> list[Dataset]:
    """18 cells, two seeds each."""
    made = []
    for number, (task, steps) in enumerate(SLICES.items()):
        steps = min(steps, longest)
        episode = np.repeat(np.arange(episodes, dtype=np.int32), steps)
        since = np.tile(np.arange(steps, dtype=np.int32), episodes)
        rng = np.random.default_rng(number)
        per_row = rng.integers(0, 2, len(episode))
        cue = rng.integers(0, 2, episodes)[episode] if task.startswith("MemoryS13") else per_row
        for architecture, size in STATES.items():
            sizes = {"memory": size, "untrained": size, "observation": OBSERVATION}
            features = {
                name: states(folder / f"{number}-{architecture}-{name}", episode, cue, width, i)
                for i, (name, width) in enumerate(sizes.items())
            }
            made += [Dataset(cue.astype(np.uint8), episode, since, features)] * 4
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", help="where the states go; they need 6 GB")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--longest", type=int, default=845, help="cuts episodes short")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        datasets = suite(Path(folder), args.episodes, args.longest)
        began, busy = time.perf_counter(), time.process_time()

        def tell(done: int, total: int) -> None:
            wall, cpu = time.perf_counter() - began, time.process_time() - busy
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            spent = f"{wall:.0f} s, {cpu:.0f} s of processor, peak {peak:.2f} GB"
            print(f"{done} of {total}: {spent}", flush=True)

        found = measure(datasets, seed=0, progress=tell)
    aucs = [each.probes["memory"].linear for each in found]
    print(f"AUC of the memories {min(aucs):.3f} to {max(aucs):.3f}")


if __name__ == "__main__":
    main()
