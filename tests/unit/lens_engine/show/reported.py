"""A result with everything that a report can show: four labels, two uses, and answers on forty test rows."""

from typing import Any

from lens_engine.classifier.candidates import SuspiciousLabel
from lens_engine.prompt.record import LabelWord, TaskRecord
from lens_engine.result import LabelBias, LabelEffect, SelectionResult, SupportExample, SupportExamples
from tests.answered import make_answers
from tests.unit.lens_cli.results import make_answer, make_result

LABELS = ("billing", "delivery", "account", "technical")
ROWS = 40


def make_reported(**changes: Any) -> SelectionResult:
    words = tuple(LabelWord(label=label, word=label.title()) for label in LABELS)
    gold = tuple(row % 4 for row in range(ROWS))
    wrong = tuple((place + 1) % 4 if row % 7 == 0 else place for row, place in enumerate(gold))
    shares = tuple(round(0.4 + row * 0.0151, 4) for row in range(ROWS))
    values: dict[str, Any] = {
        "task": TaskRecord(template="{text} Topic: {label}.", label_words=words, separator="\n"),
        "support_examples": (_make_answer("prompt", (3, 912, 17)), _make_answer("probabilities", (44, 5))),
        "answers": make_answers(
            is_test=True,
            rows=tuple(range(100, 100 + ROWS)),
            gold=gold,
            support_examples=(wrong, gold),
            classifier=wrong,
            support_examples_probabilities=(shares, tuple(reversed(shares))),
            classifier_probabilities=shares,
        ),
        "suspicious_labels": (
            SuspiciousLabel(
                row=71, label="account", likelier="billing", probability=0.031, probability_of_likelier=0.944
            ),
        ),
    }
    return make_result(**(values | changes))


def _make_answer(use: Any, rows: tuple[int, ...]) -> SupportExamples:
    examples = tuple(_make_example(position, row) for position, row in enumerate(rows))
    biases = tuple(LabelBias(label=label, bias=0.25 * place - 0.31) for place, label in enumerate(LABELS))
    return make_answer(use, examples=examples, label_biases=biases, prompt="".join(one.text for one in examples))


def _make_example(position: int, row: int) -> SupportExample:
    label = LABELS[position]
    return SupportExample(
        position=position,
        row=row,
        text=f"I wrote to you twice about row {row}, and nobody has answered.",
        label=label,
        label_word=label.title(),
        info_score=0.0123 * (position + 1),
        tokens=9,
        effects=tuple(
            LabelEffect(label=one, effect=0.0211 * (place - position) + row / 1e4, rows=8)
            for place, one in enumerate(LABELS)
        ),
    )
