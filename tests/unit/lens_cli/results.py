"""A result with every part, for the tests of what is printed and written."""

from lens_engine.classifier.artefact import Classifier, LabelWord, ModelRecord, Prompt, TaskRecord
from lens_engine.classifier.heads import ArgmaxHead, HeadKind
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.result import (
    BagOfWords,
    Baselines,
    ClassifierReport,
    FrontierPoint,
    HeadFigures,
    Provenance,
    RandomAndValidation,
    Rival,
    SelectionResult,
    Spending,
    Splits,
    Spread,
    SupportExample,
    Verdict,
)
from lens_engine.types import StopReason

ACCURACY = Accuracy(accuracy=0.88, n=200, ci95=(0.828, 0.918), macro_f1=0.879)
RIVAL = Accuracy(accuracy=0.8, n=200, ci95=(0.739, 0.85), macro_f1=0.79)
SPREAD = Spread(mean=0.655, sd=0.143, min=0.5, max=0.83, permutations=10, n=60)


VERDICT = Verdict(
    use="classifier",
    sentence="Use the classifier: 0.905 on 200 test rows, for 412 tokens an input.",
    ahead=True,
    significant=True,
    comparisons=(),
)
QUALITY = Quality(accuracy=0.905, n=200, ci95=(0.856, 0.938), macro_f1=0.903, log_loss=0.287, ece=0.031)
SMALLER = Quality(accuracy=0.86, n=200, ci95=(0.805, 0.901), macro_f1=0.855, log_loss=0.391, ece=0.047)

ARTEFACT = Classifier(
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
    model=ModelRecord(model="table", revision="0" * 64, dtype="float32", device="cpu"),
    tokens_per_input=20.0,
)


def make_report() -> ClassifierReport:
    heads = (HeadFigures(head="linear", cv_log_loss=0.3, accuracy=0.9, log_loss=0.287),)
    return ClassifierReport(
        max_prompts=5,
        size=2,
        head="linear",
        fit_rows=300,
        test=QUALITY,
        tokens_per_input=1412.4,
        frontier=(
            FrontierPoint(size=1, head="prior", tokens_per_input=706.2, test=SMALLER, heads=heads),
            FrontierPoint(size=2, head="linear", tokens_per_input=1412.4, test=QUALITY, heads=heads),
        ),
        artefact=ARTEFACT,
    )


def make_rival(size: int, head: HeadKind, demonstrations: int) -> Rival:
    return Rival(
        **SMALLER.model_dump(),
        size=size,
        head=head,
        demonstrations=demonstrations,
        fit_rows=300,
        tokens_per_input=650.0,
    )


def make_baselines() -> Baselines:
    return Baselines(
        zero_shot=RIVAL,
        zero_shot_head=make_rival(1, "prior", 0),
        random=SPREAD,
        random_and_validation=RandomAndValidation(validation_accuracy=0.85, test=RIVAL, permutations=72, rows=(4, 1)),
        random_ensemble=make_rival(5, "linear", 8),
        random_prompts=make_rival(5, "linear", 8),
        long_prompt=make_rival(1, "prior", 40),
        bag_of_words=BagOfWords(**SMALLER.model_dump(), labelled_rows=420),
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
        "classifier": make_report(),
        "baselines": make_baselines(),
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
