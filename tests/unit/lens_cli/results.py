"""A result with every part, for the tests of what is printed and written."""

from lens_engine.classifier.classifier import Classifier, LabelWord, ModelRecord, Prompt, TaskRecord
from lens_engine.classifier.heads import AnyHeadKind, ArgmaxHead
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.classifier.tested import ClassifierName, FrontierPoint, HeadFigures, TestedClassifier, Verdict
from lens_engine.result import (
    Provenance,
    RandomAndValidation,
    SelectionResult,
    Spending,
    Splits,
    Spread,
    SupportExample,
)
from lens_engine.types import StopReason

ACCURACY = Accuracy(accuracy=0.88, n=200, ci95=(0.828, 0.918), macro_f1=0.879)
RIVAL = Quality(accuracy=0.8, n=200, ci95=(0.739, 0.85), macro_f1=0.79, log_loss=0.5, ece=0.1)
SPREAD = Spread(mean=0.655, sd=0.143, min=0.5, max=0.83, permutations=10, n=60)


VERDICT = Verdict(
    use="ensemble",
    sentence="Use the ensemble: 0.905 on 200 test rows, for 412 tokens an input.",
    comparisons=(),
)
QUALITY = Quality(accuracy=0.905, n=200, ci95=(0.856, 0.938), macro_f1=0.903, log_loss=0.287, ece=0.031)
SMALLER = Quality(accuracy=0.86, n=200, ci95=(0.805, 0.901), macro_f1=0.855, log_loss=0.391, ece=0.047)

CLASSIFIER = Classifier(
    task=TaskRecord(
        template="{text} It was {label}.",
        label_words=(LabelWord(label="positive", word="great"), LabelWord(label="negative", word="terrible")),
        separator="\n",
    ),
    prompts=(
        Prompt(rows=(0,), demonstrations=("A joy. It was great.\n",)),
        Prompt(rows=(1,), demonstrations=("A bore. It was terrible.\n",)),
    ),
    head=ArgmaxHead(),
    fit_rows=300,
    model=ModelRecord(model="table", revision="0" * 64, dtype="float32", device="cpu"),
    tokens_per_input=20.0,
)


HEADS = (HeadFigures(head="linear", cv_log_loss=0.3, accuracy=0.9, log_loss=0.287),)
FRONTIER = (
    FrontierPoint(size=1, head="prior", tokens_per_input=706.2, test=SMALLER, heads=HEADS),
    FrontierPoint(size=2, head="linear", tokens_per_input=1412.4, test=QUALITY, heads=HEADS),
)


def make_tested(
    name: ClassifierName, size: int, head: AnyHeadKind, demonstrations: int = 8, fit_rows: int = 300, **more: object
) -> TestedClassifier:
    usual = {"test": SMALLER, "tokens_per_input": 650.0}
    values = {"name": name, "size": size, "head": head, "demonstrations": demonstrations, "fit_rows": fit_rows}
    return TestedClassifier.model_validate(usual | values | more)


TESTED = (
    make_tested("ensemble", 2, "linear", test=QUALITY, tokens_per_input=1412.4),
    make_tested(
        "support_examples", 1, "argmax", fit_rows=0, test=Quality(**ACCURACY.model_dump(), log_loss=0.4, ece=0.1)
    ),
    make_tested("zero_shot", 1, "argmax", 0, 0, test=RIVAL),
    make_tested("zero_shot_head", 1, "prior", 0),
    make_tested("random_and_validation", 1, "argmax", fit_rows=0, test=RIVAL),
    make_tested("random_ensemble", 5, "linear"),
    make_tested("random_prompts", 5, "linear"),
    make_tested("long_prompt", 1, "prior", 40),
    make_tested("bag_of_words", 0, "bag_of_words", 0, 420, tokens_per_input=0.0),
)


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
        "classifier": CLASSIFIER,
        "tested": TESTED,
        "frontier": FRONTIER,
        "random": SPREAD,
        "random_and_validation": RandomAndValidation(validation_accuracy=0.85, permutations=72, rows=(4, 1)),
        "verdict": VERDICT,
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
