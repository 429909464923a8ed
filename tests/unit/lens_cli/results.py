"""A result with every part, for the tests of what is printed and written."""

from typing import Any

from lens_engine.classifier.candidates import CandidateName, TestedClassifier
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import ArgmaxHead, HeadKind
from lens_engine.classifier.prompt import ModelRecord, Prompt
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.config import Use
from lens_engine.result import (
    BestAnswer,
    Comparison,
    LabelBias,
    PromptContender,
    Provenance,
    SelectionResult,
    Spending,
    Splits,
    Spread,
    SupportExample,
    SupportExamples,
    Verdict,
)
from lens_engine.task.record import LabelWord, TaskRecord
from lens_engine.types import StopReason
from tests.answered import make_answers

JUDGED = Accuracy(accuracy=0.91, n=100, ci95=(0.838, 0.952), macro_f1=0.91)
RIVAL = Quality(accuracy=0.8, n=200, ci95=(0.739, 0.85), macro_f1=0.79, log_loss=0.5, ece=0.1)
SPREAD = Spread(mean=0.655, sd=0.143, min=0.5, max=0.83, permutations=10, n=60)
VERDICT = Verdict(sentence="Use the classifier: it is right for 181 of 200 test texts (91 %).")
QUALITY = Quality(accuracy=0.905, n=200, ci95=(0.856, 0.938), macro_f1=0.903, log_loss=0.287, ece=0.031)
SMALLER = Quality(accuracy=0.86, n=200, ci95=(0.805, 0.901), macro_f1=0.855, log_loss=0.391, ece=0.047)

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
        "without_biases": QUALITY,
        "with_biases": SMALLER,
        "contenders": (
            PromptContender(method="lens", rows=(912,), judged=JUDGED, test=test),
            PromptContender(method="zero_shot", rows=(), judged=JUDGED, test=None),
            PromptContender(method="random_and_validation", rows=(4, 1), judged=JUDGED, test=RIVAL),
        ),
        "comparison": Comparison(
            only_own_right=30,
            only_rival_right=9,
            p_value=0.00116,
            permutations=72,
            macro_f1=0.113,
            macro_f1_error=0.032,
        ),
        "recommended": True,
        "best": BestAnswer(name="lens", test=test),
        "reason": "The prompt is right for 181 of 200 test texts (91 %).",
    }
    return SupportExamples.model_validate(values | changes)


def make_result(**changes: object) -> SelectionResult:
    values: dict[str, object] = {
        "partial": False,
        "stop_reason": StopReason.COMPLETED,
        "task": CLASSIFIER.task,
        "support_examples": (make_answer("prompt"), make_answer("probabilities")),
        "classifier": CLASSIFIER,
        "tested": TESTED,
        "random": SPREAD,
        "verdict": VERDICT,
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
    values |= changes
    answers: Any = values["support_examples"]
    return SelectionResult.model_validate({"test_answers": make_answers(len(answers)), **values})
