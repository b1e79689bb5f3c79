"""From a table of runs to statistics, tables, figures and an answer in words.

Nothing here imports jax or the learner. Needs the extra `clew[report]`.
"""

from clew.analysis.advice import advice, reason
from clew.analysis.answer import Answer, answers
from clew.analysis.from_store import StoreContents, read_store
from clew.analysis.from_table import TableContents, read_table
from clew.analysis.published import published, published_success
from clew.analysis.results import Results
from clew.analysis.statistics import Statistics, TaskStatistics
from clew.analysis.stats.task import Task, task, tasks
from clew.analysis.verdict import Verdict, verdicts

__all__ = [
    "Answer",
    "Results",
    "Statistics",
    "StoreContents",
    "TableContents",
    "Task",
    "TaskStatistics",
    "Verdict",
    "advice",
    "answers",
    "published",
    "published_success",
    "read_store",
    "read_table",
    "reason",
    "task",
    "tasks",
    "verdicts",
]
