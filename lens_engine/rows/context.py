"""Texts that are far longer than the rest, or too long for the context, are cut.

A row that is a hundred times longer than the median costs as much as a hundred rows.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lens_engine.config import SelectionConfig
from lens_engine.errors import PromptTooLong
from lens_engine.rows.split_warnings import find_far_length
from lens_engine.rows.splits import SplitRows, check_sizes
from lens_engine.scoring.base import LabelScorer
from lens_engine.task.cutting import TextCutter
from lens_engine.task.template import Task
from lens_engine.types import Example

SPARE_TOKENS = 8
"""Room kept where rows or forms of a prompt are left out, not cut (tokens): for the tokenizer's leading special tokens,
with a margin, because one prompt that is too long ends the run."""

_SPECIAL_TOKENS = 4  #: room kept for the tokenizer's leading special tokens (tokens)
_FAR_TOKENS = 256  #: least length of a text that is cut because it is far longer than the rest (tokens)
_QUERIES = ("score_set", "validation", "confirmation", "test")
_SPLITS = ("candidates", *_QUERIES)
_Measured = dict[str, list[tuple[Example, int]]]
"""The rows of each split with their lengths (tokens)."""


@dataclass(frozen=True)
class _Ruler:
    task: Task
    scorer: LabelScorer
    num_demonstrations: int

    def measure(self, rows: SplitRows, split: str) -> list[tuple[Example, int]]:
        """Each row of a split with its length (tokens): as a demonstration if it is a candidate, or else as a query."""
        examples: tuple[Example, ...] = getattr(rows, split)
        if split == "candidates":
            rendered = [self.task.render_demonstration(example) for example in examples]
        else:
            rendered = [self.task.render_query(example.text) for example in examples]
        return list(zip(examples, self.scorer.count_tokens(rendered), strict=True))

    @cached_property
    def room(self) -> int:
        """Room for demonstrations and query (tokens): the context less the opening and the longest label span."""
        longest_span = max(self.scorer.count_tokens(self.task.label_spans))
        return self.scorer.max_prompt_tokens - self.opening - longest_span - _SPECIAL_TOKENS

    @cached_property
    def opening(self) -> int:
        """Length of what begins every prompt: the instruction (tokens)."""
        return sum(self.scorer.count_tokens(self.task.opening))

    @property
    def share(self) -> int:
        """Largest length of one segment (tokens) at which any n demonstrations and any query fit."""
        return self.room // (self.num_demonstrations + 1)


def fit_to_context(rows: SplitRows, scorer: LabelScorer, config: SelectionConfig) -> SplitRows:
    """The splits with the texts cut that are too long.

    No text is longer than four times the longest tenth begins with, and the prompts of every permutation fit: if need
    be, each demonstration and each query gets the same share of the context. A spare row that is longer than every row
    of the evaluation is left out.

    Raises:
        PromptTooLong: a demonstration exceeds its share even with an empty text; or the instruction leaves no room for
            a demonstration and a query.
        InvalidDataset, ClassTooSmall: too few examples are left where cut texts are equal.
    """
    ruler = _Ruler(rows.task, scorer, config.num_demonstrations)
    if ruler.opening and ruler.share < 1:
        raise PromptTooLong(
            f"the instruction has {ruler.opening:,} tokens, and a prompt of this model at most "
            f"{scorer.max_prompt_tokens:,}, which leaves no room for {config.num_demonstrations} demonstrations; "
            "shorten the instruction",
            field="instruction",
        )
    measured = {split: ruler.measure(rows, split) for split in _SPLITS}
    # The length of a text that is not cut (tokens, rendered).
    most = find_far_length(sorted(length for found in measured.values() for _, length in found), _FAR_TOKENS)
    if _longest_prompt(measured, config.num_demonstrations, most) > ruler.room:
        most = min(most, ruler.share)
    query = min(max((length for split in _QUERIES for _, length in measured[split]), default=0), most)
    spare = tuple(example for example, length in ruler.measure(rows, "spare") if length <= query)
    rows = replace(rows, spare=spare, most_tokens=most)
    if all(length <= most for found in measured.values() for _, length in found):
        return rows
    fitted = _trim(rows, measured, ruler, most)
    check_sizes(fitted, config)
    return fitted


def _longest_prompt(measured: _Measured, num_demonstrations: int, most: int) -> int:
    """Length of the longest prompt if every text is cut to `most` tokens."""
    demonstrations = sorted((min(length, most) for _, length in measured["candidates"]), reverse=True)
    queries = (min(length, most) for split in _QUERIES for _, length in measured[split])
    return sum(demonstrations[:num_demonstrations]) + max(queries, default=0)


def _trim(rows: SplitRows, measured: _Measured, ruler: _Ruler, most: int) -> SplitRows:
    """Cut long texts. Of rows whose cut texts are equal one stays, in the test rows if one of them is there."""
    cutter = TextCutter(ruler.task, ruler.scorer.count_tokens, most)
    fitted: dict[str, Any] = {
        split: tuple(replace(one, text=cutter.cut(one.text, length)) for one, length in found)
        for split, found in measured.items()
    }
    met, skipped = set[str](), 0
    for split in (*reversed(_QUERIES), "candidates"):
        kept = []
        for example in fitted[split]:
            if example.text in met:
                skipped += 1
            else:
                met.add(example.text)
                kept.append(example)
        fitted[split] = tuple(kept)
    trimmed = sum(length > most for found in measured.values() for _, length in found)
    return replace(rows, **fitted, skipped_too_long=skipped, trimmed_too_long=trimmed)
