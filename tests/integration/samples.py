"""Small submissions and results, and what every refusal looks like."""

from typing import Any

from lens_engine.classifier.classifier import Classifier, ModelRecord, Prompt, TaskRecord
from lens_engine.classifier.heads import LinearHead
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.classifier.tested import Comparison, TestedClassifier, Verdict
from lens_engine.metering.progress import Progress
from lens_engine.result import Provenance, RandomAndValidation, SelectionResult, Spending, Splits, SupportExample
from lens_engine.task.template import Task, Template, Verbalizer
from lens_engine.types import Example, Phase, StopReason

SCENES = (
    "at dawn",
    "by night",
    "in spring",
    "on the hill",
    "near home",
    "at sea",
    "in town",
    "on tour",
    "in May",
    "alone",
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
    best_validation_accuracy=0.83,
)
SMALL_OPTIONS: dict[str, Any] = {
    "num_demonstrations": 2,
    "splits": {"validation": 4, "confirmation": 0, "test": 8},
    "filtering": {"candidates": None, "keep": 4, "rounds": 1, "initial_score_size": 2, "max_score_size": 4},
}


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


def make_classifier(*, size: int = 2) -> Classifier:
    """A classifier of one or two prompts, with numbers that a careless store would round."""
    features = 2 * size
    return Classifier(
        task=TaskRecord.of(TASK),
        prompts=(make_prompt(3, 0), make_prompt(4, 1))[:size],
        head=LinearHead(
            means=(-0.1, -1e-300, 1e22, -4.000000000000001)[:features],
            scales=(1.0, 0.1 + 0.2, 5e-324, 1.7976931348623157e308)[:features],
            weights=((1 / 3, -1e-5, 0.0, 2.0)[:features], (-1 / 3, 1e-5, 1e300, -2.0)[:features]),
            intercepts=(0.0, -1000.0),
            inverse_l2=0.01,
        ),
        fit_rows=8,
        model=ModelRecord(model="table", revision="0" * 64, dtype="float32", device="cpu"),
        tokens_per_input=37.25,
        test=Quality(accuracy=0.75, n=8, ci95=(0.41, 0.93), macro_f1=0.733, log_loss=0.6931471805599453, ece=0.1),
    )


def list_tested(classifier: Classifier) -> tuple[TestedClassifier, ...]:
    ensemble = TestedClassifier.of("ensemble", classifier)
    single = {"name": "support_examples", "size": 1, "head": "argmax", "fit_rows": 0}
    return ensemble, ensemble.model_copy(update=single)


def make_verdict() -> Verdict:
    comparison = Comparison(
        rival="random_and_validation",
        only_ensemble_right=3,
        only_rival_right=1,
        ensemble_is_ahead=True,
        p_value=0.625,
        is_significant=False,
    )
    return Verdict(
        use="ensemble",
        sentence="Use the ensemble: 0.750 on 8 test rows, for 37 tokens an input.",
        comparisons=(comparison,),
    )


def make_result(
    stop_reason: StopReason = StopReason.COMPLETED,
    *,
    has_classifier: bool = True,
    classifier: Classifier | None = None,
    verdict: Verdict | None = None,
) -> SelectionResult:
    """A result as the engine would give: rows 3 and 0 of `make_rows`.

    Args:
        has_classifier: False for a run that was cancelled before its classifier was made.
    """
    classifier = classifier or make_classifier()
    rows = make_rows()
    chosen = [(position, row, rows[row]) for position, row in enumerate((3, 0))]
    accuracy = Accuracy(accuracy=0.875, n=8, ci95=(0.53, 0.98), macro_f1=0.873)
    rival = RandomAndValidation(validation_accuracy=0.75, permutations=12, rows=(4, 1))
    return SelectionResult(
        task=TaskRecord.of(TASK),
        prompt=make_prompt(3, 0).text,
        classifier=classifier if has_classifier else None,
        tested=list_tested(classifier) if has_classifier else (),
        frontier=(),
        random_and_validation=rival if has_classifier else None,
        partial=stop_reason is not StopReason.COMPLETED,
        stop_reason=stop_reason,
        examples=tuple(
            SupportExample(
                position=position,
                row=row,
                text=content["text"],
                label=content["label"],
                label_word={"positive": "great", "negative": "terrible"}[content["label"]],
                info_score=0.1 - position / 100,
                tokens=7 + position,
            )
            for position, row, content in chosen
        ),
        validation=accuracy,
        confirmation=None,
        test=accuracy,
        verdict=(verdict or make_verdict()) if has_classifier else None,
        order=None,
        truncated_prompts=0,
        splits=Splits(
            candidates=40,
            score_set=4,
            validation=4,
            confirmation=0,
            test=8,
            unused=4,
            duplicates_dropped=0,
            conflicting_texts=0,
            leaked_from_test=0,
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
