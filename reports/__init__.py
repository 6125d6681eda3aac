"""What a run says: the shapes of a report, its verdict, and everything that is written from it."""

from reports.data import load_report
from reports.model import CatalogueEntry, CheckResult, Failure, Measurement, Report, load_catalogue
from reports.redact import redact
from reports.verdict import Judgement, judge
from reports.write import write_report

__all__ = [
    "CatalogueEntry",
    "CheckResult",
    "Failure",
    "Judgement",
    "Measurement",
    "Report",
    "judge",
    "load_catalogue",
    "load_report",
    "redact",
    "write_report",
]
