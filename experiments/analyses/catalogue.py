"""The analyses beside the main table, by name."""

from typing import Any

from experiments.analyses.analysis import Analysis
from experiments.analyses.classifier import ClassifierAnalysis
from experiments.analyses.labels import Labels
from experiments.analyses.order import Order
from experiments.analyses.transfer import Transfer

ANALYSES: dict[str, type[Analysis[Any]]] = {
    analysis.name: analysis for analysis in (ClassifierAnalysis, Order, Transfer, Labels)
}
