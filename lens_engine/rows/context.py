"""Prompts that exceed the model's context: refused, left out or trimmed, as `config.too_long` says."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lens_engine.config import SelectionConfig
from lens_engine.errors import InputProblem, PromptTooLong
from lens_engine.rows.splits import SplitRows, check_sizes
from lens_engine.scoring.base import LabelScorer
from lens_engine.task.template import Task
from lens_engine.types import Example

_SPECIAL_TOKENS = 4
"""Room kept for the tokenizer's leading special tokens (tokens)."""

_QUERIES = ("score_set", "validation", "confirmation", "test")
_SPLITS = ("candidates", *_QUERIES)


@dataclass(frozen=True)
class _Ruler:
    task: Task
    scorer: LabelScorer
    num_demonstrations: int

    def demonstrations(self, examples: Sequence[Example]) -> list[int]:
        return self.scorer.count_tokens([self.task.render_demonstration(example) for example in examples])

    def queries(self, examples: Sequence[Example]) -> list[int]:
        return self.scorer.count_tokens([self.task.render_query(example.text) for example in examples])

    def measure(self, rows: SplitRows, split: str) -> list[tuple[Example, int]]:
        """Each row of a split with its length (tokens): as a demonstration if it is a candidate, or else as a query."""
        examples: tuple[Example, ...] = getattr(rows, split)
        lengths = self.demonstrations(examples) if split == "candidates" else self.queries(examples)
        return list(zip(examples, lengths, strict=True))

    def longest_query(self, rows: SplitRows) -> int:
        return max((length for split in _QUERIES for _, length in self.measure(rows, split)), default=0)

    @cached_property
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
    so the prompts of every permutation fit. A spare row that is longer than every row of the evaluation is left out.

    Raises:
        PromptTooLong: the policy is "reject" and the longest prompt does not fit; or a demonstration exceeds its
            share even with an empty text.
        InvalidDataset, ClassTooSmall: too few examples are left without the long texts.
    """
    ruler = _Ruler(rows.task, scorer, config.num_demonstrations)
    query = ruler.longest_query(rows)
    spare = zip(rows.spare, ruler.queries(rows.spare), strict=True)
    rows = replace(rows, spare=tuple(example for example, length in spare if length <= query))
    longest = sum(sorted(ruler.demonstrations(rows.candidates), reverse=True)[: config.num_demonstrations]) + query
    if longest <= ruler.room:
        return rows
    if config.too_long == "reject":
        raise _too_long(rows, ruler, longest)
    fitted = _trim(rows, ruler) if config.too_long == "trim_input" else _skip(rows, ruler)
    check_sizes(fitted, config)
    return fitted


def _too_long(rows: SplitRows, ruler: _Ruler, longest: int) -> PromptTooLong:
    """Name the row whose text takes the most of the context, be it a candidate or a query."""
    measured = [(length, split, example) for split in _SPLITS for example, length in ruler.measure(rows, split)]
    _, split, example = max(measured, key=lambda one: one[0])
    place = example.place if split != "test" else f"test {example.place}"
    message = (
        f"the longest prompt would have {longest} tokens and the model takes {ruler.room}; the longest example is "
        f"{place}; shorten the longest texts, use fewer demonstrations, or set too_long to "
        '"skip_example" or "trim_input"'
    )
    field = "options.too_long"
    faults = [InputProblem(field, message)]
    if split != "test":  # a test row is of the dataset or of a file of its own
        faults.append(InputProblem("dataset.text", f"{place} has the longest text", example.row))
    return PromptTooLong(message, field=field, row=example.row, problems=tuple(faults))


def _skip(rows: SplitRows, ruler: _Ruler) -> SplitRows:
    measured = {split: ruler.measure(rows, split) for split in _SPLITS}
    kept: dict[str, Any] = {
        split: tuple(example for example, length in found if length <= ruler.share) for split, found in measured.items()
    }
    skipped = sum(len(measured[split]) - len(kept[split]) for split in _SPLITS)
    return replace(rows, **kept, skipped_too_long=skipped)


def _trim(rows: SplitRows, ruler: _Ruler) -> SplitRows:
    """Cut long texts. A candidate whose cut text equals the text of another split's row is left out."""
    trimmed, fitted = 0, dict[str, Any]()
    for split in _SPLITS:
        measured = ruler.measure(rows, split)
        trimmed += sum(length > ruler.share for _, length in measured)
        fitted[split] = tuple(
            example if length <= ruler.share else _trim_text(example, ruler) for example, length in measured
        )
    met = {example.text for split in _QUERIES for example in fitted[split]}
    candidates = fitted["candidates"]
    fitted["candidates"] = tuple(example for example in candidates if example.text not in met)
    skipped = len(candidates) - len(fitted["candidates"])
    return replace(rows, **fitted, skipped_too_long=skipped, trimmed_too_long=trimmed)


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
