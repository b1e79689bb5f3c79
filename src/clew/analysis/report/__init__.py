"""One self-contained page: the answer in words, the picture, the tables, the curves.

No network, no fonts, no scripts from elsewhere: the file can be mailed.
"""

from clew.analysis.report.against import Comparison, against, against_paper
from clew.analysis.report.page import page, write_report

__all__ = ["Comparison", "against", "against_paper", "page", "write_report"]
