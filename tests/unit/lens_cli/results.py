"""A result with every part, for the tests of what is printed and written."""

from io import StringIO
from typing import Any

from rich.console import Console

from lens_engine.classifier.candidates import CandidateName, TestedClassifier
from lens_engine.classifier.classifier import Classifier, ModelRecord, Prompt
from lens_engine.classifier.heads import ArgmaxHead, HeadKind
from lens_engine.classifier.quality import Quality
from lens_engine.config import Use
from lens_engine.prompt.record import LabelWord, TaskRecord
from lens_engine.result import (
    Chance,
    Contender,
    Estimate,
    LabelBias,
    Provenance,
    RowCounts,
    SelectionResult,
    Spending,
    SupportExample,
    SupportExamples,
    Verdict,
)
from lens_engine.types import StopReason
from tests.answered import make_answers

JUDGED = Quality(accuracy=0.91, n=100, ci95=(0.838, 0.952), macro_f1=0.91, log_loss=0.3, ece=0.05)
RIVAL = Quality(accuracy=0.8, n=200, ci95=(0.739, 0.85), macro_f1=0.79, log_loss=0.5, ece=0.1)
QUALITY = Quality(accuracy=0.905, n=200, ci95=(0.856, 0.938), macro_f1=0.903, log_loss=0.287, ece=0.031)
SMALLER = Quality(accuracy=0.86, n=200, ci95=(0.805, 0.901), macro_f1=0.855, log_loss=0.391, ece=0.047)
ESTIMATE = Estimate(
    accuracy=0.88,
    n=100,
    ci95=(0.802, 0.93),
    macro_f1=0.87,
    naive=0.91,
    beats=tuple(
        Chance(rival=name, chance=one) for name, one in (("zero_shot", 0.97), ("words", 0.59), ("random", 0.81))
    ),
    more_rows=0.018,
)
VERDICT = Verdict(sentence="Use the classifier: it is right for 181 of 200 test texts (91 %).")

CLASSIFIER = Classifier(
    task=TaskRecord(
        template="{text} It was {label}.",
        label_words=(LabelWord(label="positive", word="great"), LabelWord(label="negative", word="terrible")),
        separator="\n",
    ),
    prompts=(Prompt(rows=(0,), demonstrations=("A joy. It was great.\n",)),),
    head=ArgmaxHead(),
    fit_rows=300,
    model=ModelRecord(model="table", revision="0" * 64, dtype="float32", device="cpu"),
    tokens_per_input=20.0,
)


def printed_on(console: Console) -> str:
    """All that a console wrote to its StringIO."""
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def make_tested(name: CandidateName, head: HeadKind, prompts: int = 1, **more: object) -> TestedClassifier:
    usual = {"is_chosen": False, "demonstrations": 8, "fit_rows": 300, "test": SMALLER, "cross_validated": RIVAL}
    priced = {"tokens_per_input": 40.6 * prompts, "tokens_held": 650 * prompts}
    return TestedClassifier.model_validate({"name": name, "head": head, "prompts": prompts} | usual | priced | more)


TESTED = (
    make_tested("bag_of_words", "bag_of_words", 0, demonstrations=0, fit_rows=1420),
    make_tested("states", "states", demonstrations=0, layer=16, pooling="mean", test=None),
    make_tested("states", "states", layer=20, pooling="last"),
    make_tested("label_probabilities", "prior", is_chosen=True, test=QUALITY),
)


def make_answer(use: Use, **changes: object) -> SupportExamples:
    test = QUALITY if use == "prompt" else SMALLER
    values: dict[str, object] = {
        "use": use,
        "method": "lens",
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
        "prompt": "[red]loved[/red] it It was great.\n",
        "label_biases": (LabelBias(label="positive", bias=0.3), LabelBias(label="negative", bias=-0.3)),
        "judged": JUDGED,
        "estimate": ESTIMATE,
        "test": test,
        "recommended": True,
        "reason": "The prompt is right for 181 of 200 test texts (91 %).",
    }
    return SupportExamples.model_validate(values | changes)


def make_contender(name: str, method: str, use: Use | None = "prompt", **changes: object) -> Contender:
    """A prompt for a use; a classifier for None."""
    values = {"kind": "classifier" if use is None else "prompt", "judged": JUDGED, "tokens": 40.6, "tokens_held": 0.0}
    return Contender.model_validate(values | {"name": name, "method": method, "use": use} | changes)


CONTENDERS = (
    make_contender("answers of the model", "label_probabilities", None, judged=RIVAL, test=QUALITY, tokens_held=650.0),
    make_contender("LENS 1", "lens", rows=(912,), test=QUALITY, tokens_held=9.0),
    make_contender("LENS 1", "lens", "probabilities", rows=(912,), test=SMALLER, tokens_held=9.0),
    make_contender("no examples", "zero_shot"),
    make_contender("random 1", "random", rows=(4, 1), test=RIVAL, tokens_held=18.0),
    make_contender("word counting", "bag_of_words", None, judged=RIVAL, test=SMALLER, tokens=0.0),
    make_contender("random 2", "random", rows=(7, 8), is_dropped=True, tokens_held=18.0),
)


def make_result(**changes: object) -> SelectionResult:
    values: dict[str, object] = {
        "partial": False,
        "stop_reason": StopReason.COMPLETED,
        "task": CLASSIFIER.task,
        "support_examples": (make_answer("prompt"), make_answer("probabilities")),
        "classifier": CLASSIFIER,
        "classifier_estimate": ESTIMATE,
        "tested": TESTED,
        "first": "classifier",
        "contenders": CONTENDERS,
        "verdict": VERDICT,
        "counts": RowCounts(
            labelled=300, search=100, judging=200, test=200,
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
    values |= changes
    answers: Any = values["support_examples"]
    return SelectionResult.model_validate({"answers": make_answers(len(answers), is_test=True), **values})
