"""Small submissions and results, and what every refusal looks like."""

from typing import Any

from lens_engine.classifier.bag_of_words import WordRegression
from lens_engine.classifier.candidates import CandidateName, TestedClassifier
from lens_engine.classifier.classifier import Classifier, ModelRecord, Prompt
from lens_engine.classifier.heads import BagOfWordsHead, PriorHead, StatesAndWordsHead, StatesHead
from lens_engine.classifier.quality import Quality
from lens_engine.config import Use
from lens_engine.metering.progress import Progress
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.result import (
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
from lens_engine.types import Example, HeadlineKind, Phase, StopReason
from tests.answered import make_answers

SCENES = (
    *("at dawn", "by night", "in spring", "on the hill", "near home"),
    *("at sea", "in town", "on tour", "in May", "alone"),
)
PRAISE, BLAME = ("a warm film", "a fine cast", "sharp and tender"), ("a dull film", "a flat joke", "loud and empty")
TASK = Task(Template("{text} It was {label}."), Verbalizer({"positive": "great", "negative": "terrible"}))
PROGRESS = Progress(
    phase=Phase.SEARCH,
    step=2,
    steps=4,
    pairs_done=120_000,
    pairs_total=410_000,
    tokens_done=9_000_000,
    tokens_total=30_000_000,
    tokens_per_second=2400.5,
    eta_seconds=610.0,
    expected_accuracy=None,
)
SMALL_OPTIONS: dict[str, Any] = {"num_demonstrations": 2, "search": {"sets": 4}}


def make_rows() -> list[dict[str, str]]:
    """60 distinct reviews of two labels."""
    return [
        {"text": f"{sentence} {scene}", "label": label}
        for scene in SCENES
        for label, sentences in (("positive", PRAISE), ("negative", BLAME))
        for sentence in sentences
    ]


def make_csv(rows: list[dict[str, str]] | None = None) -> bytes:
    lines = [f"{row['text']},{row['label']}" for row in (make_rows() if rows is None else rows)]
    return "\n".join(["text,label", *lines]).encode()


def make_spec(**changes: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "template": "{text} It was {label}.",
        "verbalizer": {"positive": "great", "negative": "terrible"},
        "preset": "quick",
        "options": SMALL_OPTIONS,
    }
    return spec | changes


def make_submission(**spec: Any) -> dict[str, Any]:
    return {"spec": make_spec(**spec), "examples": make_rows()}


def make_prompt(*numbers: int) -> Prompt:
    rows = make_rows()
    examples = [Example(row, rows[row]["text"], rows[row]["label"]) for row in numbers]
    return Prompt(rows=numbers, demonstrations=TASK.render_prefix(examples))


def make_classifier() -> Classifier:
    """A classifier of a prompt, with numbers that a careless store would round."""
    return Classifier(
        task=TaskRecord.of(TASK),
        prompts=(make_prompt(3, 0),),
        head=PriorHead(biases=((-4.000000000000001, 1e-300),), temperature=1.7976931348623157e308),
        fit_rows=8,
        model=ModelRecord(model="table", revision="0" * 64, dtype="float32", device="cpu"),
        tokens_per_input=37.25,
        tokens_held=29,
        quality=Quality(accuracy=0.75, n=8, ci95=(0.41, 0.93), macro_f1=0.733, log_loss=0.6931471805599453, ece=0.1),
    )


def make_states_classifier() -> Classifier:
    """A classifier that reads a hidden state after one prompt."""
    weights = ((1 / 3, -1e-5), (-1 / 3, 1e-5))
    head = StatesHead(layer=3, pooling="mean", weights=weights, intercepts=(0.0, 0.5), inverse_l2=0.01)
    return make_classifier().model_copy(update={"head": head})


def make_words() -> WordRegression:
    return WordRegression(terms=("dull", "warm"), idf=(1.2, 1.2), weights=((-1.0, 1.0), (1.0, -1.0)), intercepts=(0, 0))


def make_bag_of_words() -> Classifier:
    changes = {"prompts": (), "model": None, "tokens_per_input": 0.0, "tokens_held": 0}
    return make_classifier().model_copy(update={**changes, "head": BagOfWordsHead(bag_of_words=make_words())})


def make_pool() -> Classifier:
    """A classifier that reads a hidden state and the words."""
    states = make_states_classifier()
    head = StatesAndWordsHead(states=states.head, bag_of_words=make_words(), words_weight=0.5)  # type: ignore[arg-type]
    return states.model_copy(update={"head": head})


def make_estimate(accuracy: float) -> Estimate:
    return Estimate(accuracy=accuracy, n=60, ci95=(0.4, 0.98), macro_f1=0.7, largest_class=0.5, naive=0.9)


def make_answer(use: Use, method: str, *numbers: int) -> SupportExamples:
    """Support examples for a use: these rows of `make_rows`. Label biases make it worse."""
    rows, estimate = make_rows(), make_estimate(0.875 if use == "prompt" else 0.75)
    return SupportExamples(
        use=use,
        method=method,
        examples=tuple(
            SupportExample(
                position=position,
                row=row,
                text=rows[row]["text"],
                label=rows[row]["label"],
                label_word=TASK.verbalizer.words[rows[row]["label"]],
                info_score=0.1 - position / 100,
                tokens=7 + position,
            )
            for position, row in enumerate(numbers)
        ),
        prompt=make_prompt(*numbers).text,
        label_biases=(LabelBias(label="positive", bias=0.1 + 0.2), LabelBias(label="negative", bias=-1e-5)),
        judged=Quality(accuracy=0.9, n=60, ci95=(0.8, 0.95), macro_f1=0.873, log_loss=0.5, ece=0.1),
        estimate=estimate,
        test=None,
        recommended=use == "prompt",
        reason=f"The prompt of {method} is right for {estimate.accuracy:.3f}.",
    )


def make_result(
    stop_reason: StopReason = StopReason.COMPLETED, *, has_classifier: bool = True, classifier: Classifier | None = None
) -> SelectionResult:
    """A result as the engine would give: rows 3 and 0 of `make_rows` as the prompt, 4 and 1 for probabilities.

    Args:
        has_classifier: False for a run that was cancelled before its classifier was made.
    """
    made = classifier or make_classifier()
    assert made.quality is not None
    kind = made.head.kind
    name: CandidateName = kind if kind in ("states", "bag_of_words", "states_and_words") else "label_probabilities"
    tested = TestedClassifier(
        name=name,
        is_chosen=True,
        prompts=len(made.prompts),
        demonstrations=2 * len(made.prompts),
        head=kind,
        fit_rows=made.fit_rows,
        tokens_per_input=made.tokens_per_input,
        tokens_held=made.tokens_held,
        cross_validated=made.quality,
        test=None,
    )
    first: HeadlineKind = "prompt" if kind != "bag_of_words" or not has_classifier else "words"
    return SelectionResult(
        task=TaskRecord.of(TASK),
        support_examples=(make_answer("prompt", "lens", 3, 0), make_answer("probabilities", "random", 4, 1)),
        first=first,
        contenders=(),
        classifier=made if has_classifier else None,
        classifier_estimate=make_estimate(0.75) if has_classifier else None,
        tested=(tested,) if has_classifier else (),
        partial=stop_reason is not StopReason.COMPLETED,
        stop_reason=stop_reason,
        verdict=Verdict(sentence=f"Use {first}."),
        answers=make_answers(),
        counts=RowCounts(
            labelled=60, search=0, judging=60, test=0, duplicates_dropped=0, conflicting_texts=0, leaked_from_test=0
        ),
        cost=Spending(pairs=100, tokens=1000, seconds=1.5, permutations_judged=12),
        provenance=Provenance(
            lens="0.1.0",
            model="table",
            revision="0",
            dtype="float32",
            device="cpu",
            executor="plain",
            seed=0,
            dataset_sha256="0" * 64,
            test_sha256=None,
            config={},
        ),
    ).with_digest()


def problem_of(response: Any, status: int, code: str) -> dict[str, Any]:
    """The body of a refusal, its shape checked."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["type"] == f"/docs#{code}", response.text
    assert body["code"] == code
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert body["request_id"] == response.headers["x-request-id"]
    assert isinstance(body["errors"], list)
    return body


def pointers_of(body: dict[str, Any]) -> list[str]:
    return [error["pointer"] for error in body["errors"]]
