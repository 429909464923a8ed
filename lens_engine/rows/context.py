"""Prompts that exceed the model's context: refused, left out or trimmed, as `config.too_long` says."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lens_engine.config import SelectionConfig
from lens_engine.errors import InputProblem, PromptTooLong
from lens_engine.rows.splits import SplitRows, check_sizes
from lens_engine.scoring.base import LabelScorer
from lens_engine.task.template import Task
from lens_engine.types import Example

_SPECIAL_TOKENS = 4
"""Room kept for the tokenizer's leading special tokens (tokens)."""


@dataclass(frozen=True)
class _Ruler:
    task: Task
    scorer: LabelScorer
    num_demonstrations: int

    def demonstrations(self, examples: Sequence[Example]) -> list[int]:
        return self.scorer.count_tokens([self.task.render_demonstration(example) for example in examples])

    def queries(self, examples: Sequence[Example]) -> list[int]:
        return self.scorer.count_tokens([self.task.render_query(example.text) for example in examples])

    @property
    def room(self) -> int:
        """Room for demonstrations and query (tokens): the context less the longest label span."""
        longest_span = max(self.scorer.count_tokens(self.task.label_spans))
        return self.scorer.max_prompt_tokens - longest_span - _SPECIAL_TOKENS

    @property
    def share(self) -> int:
        """Largest length of one segment (tokens) at which any n demonstrations and any query fit."""
        return self.room // (self.num_demonstrations + 1)


def fit_to_context(rows: SplitRows, scorer: LabelScorer, config: SelectionConfig) -> SplitRows:
    """The splits with a longest prompt that fits, by the policy `config.too_long`.

    Under "skip_example" and "trim_input" each demonstration and each query gets the same share of the context,
    so the prompts of every permutation fit.

    Raises:
        PromptTooLong: the policy is "reject" and the longest prompt does not fit; or a demonstration exceeds its
            share even with an empty text.
        InvalidDataset, ClassTooSmall: too few examples are left without the long texts.
    """
    ruler = _Ruler(rows.task, scorer, config.num_demonstrations)
    rows = replace(rows, spare=_fitting_spare(rows, ruler))
    longest = _longest_prompt(rows, ruler)
    if longest <= ruler.room:
        return rows
    if config.too_long == "reject":
        raise _too_long(rows, ruler, longest)
    fitted = _trim(rows, ruler) if config.too_long == "trim_input" else _skip(rows, ruler)
    check_sizes(fitted, config)
    return fitted


def _evaluation_rows(rows: SplitRows) -> tuple[tuple[Example, ...], ...]:
    return rows.score_set, rows.validation, rows.confirmation, rows.test


def _fitting_spare(rows: SplitRows, ruler: _Ruler) -> tuple[Example, ...]:
    """The spare rows that are no longer than the longest row of the other splits; none has to be used."""
    longest = max(max(ruler.queries(split), default=0) for split in _evaluation_rows(rows))
    lengths = ruler.queries(rows.spare)
    return tuple(example for example, length in zip(rows.spare, lengths, strict=True) if length <= longest)


def _longest_prompt(rows: SplitRows, ruler: _Ruler) -> int:
    demonstrations = sorted(ruler.demonstrations(rows.candidates), reverse=True)
    queries = max(max(ruler.queries(split), default=0) for split in _evaluation_rows(rows))
    return sum(demonstrations[: ruler.num_demonstrations]) + queries


def _too_long(rows: SplitRows, ruler: _Ruler, longest: int) -> PromptTooLong:
    """Name the row whose text takes the most of the context, be it a candidate or a query."""
    candidates = [("row", example) for example in rows.candidates]
    queries = [("row", example) for split in _evaluation_rows(rows)[:-1] for example in split]
    queries += [("test row", example) for example in rows.test]
    lengths = ruler.demonstrations(rows.candidates) + ruler.queries([example for _, example in queries])
    kind, example = (candidates + queries)[lengths.index(max(lengths))]
    place = example.place.replace("row", kind, 1)
    message = (
        f"the longest prompt would have {longest} tokens and the model takes {ruler.room}; the longest example is "
        f"{place}; shorten the longest texts, use fewer demonstrations, or set too_long to "
        '"skip_example" or "trim_input"'
    )
    field = "options.too_long"
    faults = [InputProblem(field, message)]
    if kind == "row":  # a test row is of the dataset or of a file of its own
        faults.append(InputProblem("dataset.text", f"{place} has the longest text", example.row))
    return PromptTooLong(message, field=field, row=example.row, problems=tuple(faults))


def _skip(rows: SplitRows, ruler: _Ruler) -> SplitRows:
    skipped = 0

    def keep(examples: tuple[Example, ...], lengths: list[int]) -> tuple[Example, ...]:
        nonlocal skipped
        kept = tuple(example for example, length in zip(examples, lengths, strict=True) if length <= ruler.share)
        skipped += len(examples) - len(kept)
        return kept

    fitted = _rebuild(
        rows,
        keep(rows.candidates, ruler.demonstrations(rows.candidates)),
        [keep(split, ruler.queries(split)) for split in _evaluation_rows(rows)],
    )
    return replace(fitted, skipped_too_long=skipped)


def _trim(rows: SplitRows, ruler: _Ruler) -> SplitRows:
    """Cut long texts. A candidate whose cut text equals the text of another split's row is left out."""
    trimmed = 0

    def fit(examples: tuple[Example, ...], lengths: list[int]) -> tuple[Example, ...]:
        nonlocal trimmed
        trimmed += sum(length > ruler.share for length in lengths)
        return tuple(
            example if length <= ruler.share else _trim_text(example, ruler)
            for example, length in zip(examples, lengths, strict=True)
        )

    fitted = _rebuild(
        rows,
        fit(rows.candidates, ruler.demonstrations(rows.candidates)),
        [fit(split, ruler.queries(split)) for split in _evaluation_rows(rows)],
    )
    met = {example.text for split in _evaluation_rows(fitted) for example in split}
    apart = tuple(example for example in fitted.candidates if example.text not in met)
    skipped = len(fitted.candidates) - len(apart)
    return replace(fitted, candidates=apart, skipped_too_long=skipped, trimmed_too_long=trimmed)


def _trim_text(example: Example, ruler: _Ruler) -> Example:
    """The example with the longest beginning of its text whose demonstration fits the share; found by bisection."""
    low, high = 0, len(example.text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = ruler.demonstrations([replace(example, text=example.text[:middle])])[0] <= ruler.share
        low, high = (middle, high) if fits else (low, middle - 1)
    if not low:
        raise PromptTooLong(
            f"even without its text, a demonstration has more than {ruler.share} tokens; "
            "shorten the template or use fewer demonstrations",
            field="template",
        )
    return replace(example, text=example.text[:low])


def _rebuild(rows: SplitRows, candidates: tuple[Example, ...], others: list[tuple[Example, ...]]) -> SplitRows:
    score_set, validation, confirmation, test = others
    return replace(
        rows,
        candidates=candidates,
        score_set=score_set,
        validation=validation,
        confirmation=confirmation,
        test=test,
    )
