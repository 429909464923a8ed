"""Small submissions and results, and what every refusal looks like."""

from typing import Any

from lens_engine.classifier.quality import Accuracy
from lens_engine.result import Baselines, Provenance, SelectionResult, Spending, Splits, SupportExample
from lens_engine.types import StopReason

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


def make_result(stop_reason: StopReason = StopReason.COMPLETED) -> SelectionResult:
    """A result as the engine would give: rows 3 and 0 of `make_rows`."""
    rows = make_rows()
    chosen = [(position, row, rows[row]) for position, row in enumerate((3, 0))]
    accuracy = Accuracy(accuracy=0.875, n=8, ci95=(0.53, 0.98), macro_f1=0.873)
    return SelectionResult(
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
        baselines=Baselines(),
        verdict=None,
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
    assert body["type"] == f"https://lens.example/problems/{code}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert body["request_id"] == response.headers["x-request-id"]
    assert isinstance(body["errors"], list)
    return body


def pointers_of(body: dict[str, Any]) -> list[str]:
    return [error["pointer"] for error in body["errors"]]
