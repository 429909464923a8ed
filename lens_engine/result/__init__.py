"""Results, as data: the support examples and how good they are, each figure with its n. `lens_engine.show` shows them.

The service stores the JSON of these models, the API serves it, and `lens select --output` writes it.

parts              what a result is made of: contenders, choices, rows, cost, and where it comes from
selection_result   the result; what was chosen, in figures; its support examples as a classifier
"""

from lens_engine.result.parts import (
    Answers,
    Chance,
    Contender,
    Estimate,
    LabelBias,
    LabelEffect,
    Payment,
    Provenance,
    RowCounts,
    Spending,
    SupportExample,
    SupportExamples,
    Verdict,
    Wording,
)
from lens_engine.result.selection_result import SelectionResult

__all__ = [
    "Answers",
    "Chance",
    "Contender",
    "Estimate",
    "LabelBias",
    "LabelEffect",
    "Payment",
    "Provenance",
    "RowCounts",
    "SelectionResult",
    "Spending",
    "SupportExample",
    "SupportExamples",
    "Verdict",
    "Wording",
]
