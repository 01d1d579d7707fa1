"""Experiments: tables as data with the runner that fills them, studies, and the pages made from both."""

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.experiments.answers import verdict_page
    from wassermix.experiments.figures import draw_figure, table_figure
    from wassermix.experiments.gather import gather
    from wassermix.experiments.page import table_page
    from wassermix.experiments.runner import check_table, run_table
    from wassermix.experiments.scale import at_paper_scale
    from wassermix.experiments.studies import STUDIES, draw_study, run_study, study_names
    from wassermix.experiments.table import Table, load_table, table_names
    from wassermix.experiments.verdicts import load_claims

__all__ = [
    "STUDIES",
    "Table",
    "at_paper_scale",
    "check_table",
    "draw_figure",
    "draw_study",
    "gather",
    "load_claims",
    "load_table",
    "run_study",
    "run_table",
    "study_names",
    "table_figure",
    "table_names",
    "table_page",
    "verdict_page",
]

__getattr__ = lazy_names(__name__)
