"""Two selections side by side: what differs, by how much the second is ahead, and which answers changed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.lifecycle.spec import StoredSpec
from app.pages.fields import read_request
from app.prompts.schemas import PromptSummary
from app.store.tables import Job
from lens_engine.prompt.wording import describe_seconds, show_percent, show_right, show_share
from lens_engine.result import SelectionResult, SupportExamples
from lens_engine.result.selection_result import list_headlines
from lens_engine.show.table import NOTHING, Table
from lens_engine.show.words import HEADLINES

_MOST_ROWS = 100
"""Largest number of changed answers that are listed."""


class Changed(NamedTuple):
    """A row that one of two answers rightly."""

    row: int
    label: str
    before: str
    after: str
    is_better: bool


def compare_figures(before: SelectionResult, after: SelectionResult) -> Table:
    """How often each is right, and the difference in points."""
    first, second = ({one.kind: one.expected for one in list_headlines(result)} for result in (before, after))
    rows = list[tuple[str, ...]]()
    for kind, name in HEADLINES.items():
        one, other = first.get(kind), second.get(kind)
        if one is None and other is None:
            continue
        shown = [NOTHING if found is None else show_right(found.accuracy, found.n) for found in (one, other)]
        points = NOTHING if one is None or other is None else f"{100 * (other.accuracy - one.accuracy):+.0f} points"
        rows.append((name, *shown, points))
    return Table("How often each is right", ("", "baseline", "newer", "difference"), tuple(rows))


def compare_facts(jobs: tuple[Job, Job], results: tuple[SelectionResult, SelectionResult]) -> tuple[Table, Table]:
    """The facts in which two selections differ, and those that are the same."""
    facts = [_list_facts(job, result) for job, result in zip(jobs, results, strict=True)]
    rows = [(name, facts[0].get(name, NOTHING), facts[1].get(name, NOTHING)) for name in facts[0] | facts[1]]
    names = ("", "baseline", "newer")
    differ = tuple(row for row in rows if row[1] != row[2])
    same = tuple((name, value) for name, value, other in rows if value == other)
    return Table("What differs", names, differ, words=names), Table(
        "The same in both", ("", "both"), same, words=("both",)
    )


def list_changed(before: SelectionResult, after: SelectionResult, *, of_classifier: bool) -> list[Changed] | None:
    """The rows that one answers rightly and the other does not; None where they have no rows in common."""
    if before.task.labels != after.task.labels or _find_origin(before) != _find_origin(after):
        return None
    first, second = (_answers_by_row(one, of_classifier) for one in (before, after))
    labels = before.task.labels
    found = [
        Changed(row, labels[gold], labels[old], labels[new], new == gold)
        for row, (gold, old) in first.items()
        if row in second and ((new := second[row][1]) == gold) != (old == gold)
    ]
    return found if set(first) & set(second) else None


def _find_origin(result: SelectionResult) -> str | None:
    """SHA-256 of the file that has the rows of the answers."""
    return result.provenance.test_sha256 if result.answers.is_test else result.provenance.dataset_sha256


def _answers_by_row(result: SelectionResult, of_classifier: bool) -> Mapping[int, tuple[int, int]]:
    """Label and answer of each row that has an answer."""
    told = result.answers
    answers = told.classifier if of_classifier else next(iter(told.support_examples), None)
    found = zip(told.rows, told.gold, answers or (), strict=answers is not None)
    return {row: (gold, answer) for row, gold, answer in found if answer is not None}


def tabulate_changed(found: list[Changed], texts: Mapping[int, str], *, is_better: bool) -> Table | None:
    """The answers that became right, or wrong, with their texts; None without any."""
    own = [one for one in found if one.is_better is is_better]
    if not own:
        return None
    title = f"{'Right' if is_better else 'Wrong'} only in the newer: {len(own)}"
    rows = tuple((texts.get(one.row, str(one.row + 1)), one.label, one.before, one.after) for one in own[:_MOST_ROWS])
    names = ("text", "label", "baseline", "newer")
    return Table(title, names, rows, words=names, caption=f"the first {_MOST_ROWS}" * (len(own) > _MOST_ROWS))


def warn_of_unjudged(answer: SupportExamples) -> str:
    """That nobody knows how good a prompt is; nothing where it was judged."""
    return "" if answer.judged else "The run ended before it judged this prompt: nobody knows how good it is."


def list_version(one: PromptSummary) -> dict[str, str]:
    """What a version has in production."""
    shares = {"prompt right for": one.accuracy, "classifier right for": one.classifier_accuracy}
    figures = {name: NOTHING if share is None else f"{show_percent(share)} %" for name, share in shares.items()}
    return {**figures, "model": one.model or NOTHING, "examples": one.form or NOTHING}


def tabulate_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Table:
    """What is live beside what would be."""
    rows = tuple((name, value, after.get(name, NOTHING)) for name, value in before.items())
    return Table("What changes", ("", "live now", "then"), rows, words=("", "live now", "then"))


def _list_facts(job: Job, result: SelectionResult) -> dict[str, Any]:
    """What two selections may differ in."""
    origin, largest = result.provenance, result.expected and result.expected.largest_class
    return {
        "file": origin.dataset_sha256[:12],
        "test rows": "a file of their own" if origin.test_sha256 else NOTHING,
        **read_request(StoredSpec.model_validate(job.spec)).list_parts(),
        "form of the prompt": result.answer.form.name,
        "rows of the examples": ", ".join(str(row + 1) for row in result.rows) or NOTHING,
        "time": describe_seconds(result.cost.seconds),
        "pairs": f"{result.cost.pairs:,}",
        **({"always the most frequent label": show_share(largest, 1)} if largest else {}),
    }
