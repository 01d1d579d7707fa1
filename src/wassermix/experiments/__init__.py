"""Experiments: a table as data, a runner that fills it row by row, and the page made from what it found."""

from wassermix.experiments.gather import gather
from wassermix.experiments.page import table_page
from wassermix.experiments.runner import run_table
from wassermix.experiments.table import Table, load_table, table_names

__all__ = ["Table", "gather", "load_table", "run_table", "table_names", "table_page"]
