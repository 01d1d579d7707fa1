"""From run directories to a page, a terminal table and figures; nothing is computed that was not stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wassermix.core.lazy import callable_package, lazy_names

if TYPE_CHECKING:
    from wassermix.report.figures import (
        Curve,
        certified_curves,
        curve_of_rows,
        mean_geodesics,
        pair_matrix,
        predicted_shares,
        training_curves,
    )
    from wassermix.report.page import ReportSummary, report, write_report
    from wassermix.report.reading import load_run, load_runs
    from wassermix.report.records import Attacked, Audited, CertifiedSet, PairCurve, RunRecord
    from wassermix.report.summary import summary_record, summary_rows, summary_table

__all__ = [
    "Attacked",
    "Audited",
    "CertifiedSet",
    "Curve",
    "PairCurve",
    "ReportSummary",
    "RunRecord",
    "certified_curves",
    "curve_of_rows",
    "load_run",
    "load_runs",
    "mean_geodesics",
    "pair_matrix",
    "predicted_shares",
    "report",
    "summary_record",
    "summary_rows",
    "summary_table",
    "training_curves",
    "write_report",
]

__getattr__ = lazy_names(__name__)
callable_package(__name__, "report")
