"""Tables and sentences about a result."""

from io import StringIO

import pytest
from rich.console import Console

from lens_cli.views.result import AccuracyRow, describe_verdict, list_accuracy_rows, show_result
from lens_engine.classifier.quality import Accuracy
from lens_engine.result import (
    Baselines,
    Provenance,
    RandomAndValidation,
    SelectionResult,
    Spending,
    Splits,
    Spread,
    SupportExample,
    Verdict,
)
from lens_engine.types import StopReason

ACCURACY = Accuracy(accuracy=0.88, n=200, ci95=(0.828, 0.918), macro_f1=0.879, calibrated_accuracy=0.9)
RIVAL = Accuracy(accuracy=0.8, n=200, ci95=(0.739, 0.85), macro_f1=0.79)
SPREAD = Spread(mean=0.655, sd=0.143, min=0.5, max=0.83, permutations=10, n=60, calibrated_mean=0.7)


def make_result(**changes: object) -> SelectionResult:
    values: dict[str, object] = {
        "partial": False,
        "stop_reason": StopReason.COMPLETED,
        "examples": (
            SupportExample(
                position=0,
                row=912,
                text="[red]loved[/red] it",
                label="positive",
                label_word="great",
                info_score=0.041,
                tokens=9,
            ),
        ),
        "validation": Accuracy(accuracy=0.91, n=100, ci95=(0.838, 0.952), macro_f1=0.91),
        "confirmation": None,
        "test": ACCURACY,
        "baselines": Baselines(
            zero_shot=RIVAL,
            random=SPREAD,
            random_and_validation=RandomAndValidation(
                validation_accuracy=0.85, test=RIVAL, permutations=72, rows=(4, 1)
            ),
        ),
        "verdict": Verdict(
            better_than_random_and_validation=True, only_lens_right=24, only_rival_right=8, p_value=0.007
        ),
        "order": SPREAD,
        "truncated_prompts": 0,
        "splits": Splits(
            candidates=100, score_set=16, validation=100, confirmation=0, test=200, unused=0,
            duplicates_dropped=0, conflicting_texts=0, leaked_from_test=0,
        ),
        "cost": Spending(pairs=25541, tokens=714216, seconds=312.4, permutations_judged=68),
        "warnings": ("2 duplicates were dropped",),
        "provenance": Provenance(
            lens="0.1.0", model="smollm2", revision="0", dtype="float32", device="cpu", executor="packed",
            seed=3, dataset_sha256="0", test_sha256=None, config={},
        ),
        "digest": "feed",
    }  # fmt: skip
    return SelectionResult.model_validate(values | changes)


def shown(result: SelectionResult) -> str:
    console = Console(file=StringIO(), width=120)
    show_result(result, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_accuracy_table_lists_support_examples_first() -> None:
    rows = list_accuracy_rows(make_result())
    assert [row.name for row in rows] == [
        "support examples",
        "zero-shot",
        "random, mean of 10",
        "random-and-validation, best of 72",
        "other orders, mean of 10",
    ]
    assert rows[0] == AccuracyRow("support examples", "0.880", "0.828–0.918", "0.900", "0.879", "200")
    assert rows[2] == AccuracyRow(rows[2].name, "0.655±0.143", "(0.500–0.830)", "0.700", "–", "60")


def test_accuracy_table_omits_missing_baselines() -> None:
    rows = list_accuracy_rows(make_result(baselines=Baselines(), order=None))
    assert [row.name for row in rows] == ["support examples"]


def test_markup_in_texts_is_shown_literally() -> None:
    assert "[red]loved[/red] it" in shown(make_result())


def test_result_shows_cost_digest_and_warnings() -> None:
    text = shown(make_result())
    assert "25,541 pairs, 714,216 tokens and 68 permutations in 5:12, by smollm2 (float32, cpu, seed 3)" in text
    assert "digest feed" in text
    assert "note: 2 duplicates were dropped" in text
    assert "0.910 on the 100 validation rows" in text


def test_cached_pairs_are_shown_separately() -> None:
    cost = Spending(pairs=2000, tokens=9, seconds=1.0, permutations_judged=1, pairs_from_cache=1234)
    assert "2,000 pairs (1,234 from the pair cache), 9 tokens" in shown(make_result(cost=cost))


def test_dropped_permutations_are_shown_separately() -> None:
    cost = Spending(pairs=2000, tokens=9, seconds=1.0, permutations_judged=68, permutations_dropped=23)
    assert "9 tokens and 68 permutations (23 of them in part) in 0:01" in shown(make_result(cost=cost))


def test_result_without_accuracies_is_shown() -> None:
    bare = make_result(
        partial=True, stop_reason=StopReason.CANCELLED, validation=None, test=None, baselines=Baselines(),
        verdict=None, order=None, warnings=(),
    )  # fmt: skip
    assert "Partial: the run was stopped" in shown(bare)


@pytest.mark.parametrize(
    ("ours", "rivals", "p_value", "opening"),
    [
        (24, 8, 0.007, "Better than random-and-validation"),
        (12, 8, 0.5, "Ahead of, but not significantly better than, random-and-validation"),
        (8, 8, 1.0, "Level with random-and-validation"),
        (8, 12, 0.5, "Behind, but not significantly worse than, random-and-validation"),
        (8, 24, 0.007, "Worse than random-and-validation"),
    ],
)
def test_verdict_follows_counts_and_p_value(ours: int, rivals: int, p_value: float, opening: str) -> None:
    verdict = Verdict(
        better_than_random_and_validation=ours > rivals,
        only_lens_right=ours,
        only_rival_right=rivals,
        p_value=p_value,
    )
    assert describe_verdict(make_result(verdict=verdict)).startswith(opening)


def test_verdict_without_comparison_says_so() -> None:
    assert describe_verdict(make_result(verdict=None)) == "Not compared with random-and-validation."
