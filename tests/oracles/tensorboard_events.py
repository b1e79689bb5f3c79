"""What the `tensorboard` package writes, for `tests/suite/test_tensorboard.py`.

    python3.11 -m venv venv-tensorboard
    venv-tensorboard/bin/pip install tensorboard==2.21.0
    PYTHONPATH=src venv-tensorboard/bin/python -m tests.oracles.tensorboard_events

It writes the events of `EVENTS` with protobuf and TensorBoard's own record writer to
`tests/golden/tensorboard.events`. `tests/suite/test_logs.py` lets TensorBoard read.
"""

from __future__ import annotations

import math
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden" / "tensorboard.events"
WALL = 1700000000.25
EVENTS: list[tuple[int, dict[str, float]]] = [
    (0, {"success": 0.0}),
    (1, {"success": 0.1, "report/loss": -1.5}),
    (127, {"success": 1.0}),
    (128, {"long/" + 200 * "x": 3.0}),
    (1 << 40, {"ünïcode 环境": 1e-45, "huge": 1e39, "nan": math.nan, "inf": -math.inf}),
    (2**63 - 1, {}),
]


def record() -> None:
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.summary.writer.record_writer import RecordWriter

    with open(GOLDEN, "wb") as file:
        writer = RecordWriter(file)
        first = event_pb2.Event(wall_time=WALL, file_version="brain.Event:2")
        writer.write(first.SerializeToString())
        for step, scalars in EVENTS:
            summary = summary_pb2.Summary()
            for tag, value in scalars.items():
                value = math.inf if value == 1e39 else value  # what it is as a float32
                summary.value.append(summary_pb2.Summary.Value(tag=tag, simple_value=value))
            event = event_pb2.Event(wall_time=WALL, step=step, summary=summary)
            writer.write(event.SerializeToString())
        writer.flush()
    print(GOLDEN.stat().st_size, "bytes")


if __name__ == "__main__":
    record()
