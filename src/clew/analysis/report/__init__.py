"""One self-contained page: the answer in words, the picture, the tables, the curves.

No network, no fonts, no scripts from elsewhere: the file can be mailed.
"""

from clew.analysis.report.comparison import Comparison, compare, compare_with_published
from clew.analysis.report.page import page, write_report

__all__ = ["Comparison", "compare", "compare_with_published", "page", "write_report"]
