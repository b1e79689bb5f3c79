"""Tasks as a store names them, and what is proved of each: plain data in, plain data out.

What is proved of the study's and the demo's tasks ships with the package (`python
benchmarks/proofs.py` makes it); others are decided by `ask`, in another process with a time
limit.
"""

from clew.machines.tasks.ask import ask, shipped
from clew.machines.tasks.task import TaskSpec, TaskVerdict, decide

__all__ = ["TaskSpec", "TaskVerdict", "ask", "decide", "shipped"]
