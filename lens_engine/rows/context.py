"""Texts that are far longer than the rest, or too long for the context, are cut.

A row that is a hundred times longer than the median costs as much as a hundred rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lens_engine.errors import InvalidDataset, PromptTooLong
from lens_engine.model.base import LabelScorer
from lens_engine.prompt.template import Task
from lens_engine.rows.cleaning import find_far_length
from lens_engine.rows.dealing import DealtRows
from lens_engine.rows.quotas import count_labels
from lens_engine.types import Example

_STEP = 64  #: first step from the guessed end of a cut text (characters)


@dataclass(frozen=True)
class TextCutter:
    """Cuts a text to its longest beginning whose demonstration has at most `most` tokens, whatever its label is."""

    task: Task
    count_tokens: Callable[[Sequence[str]], list[int]]
    most: int

    def cut(self, text: str, tokens: int) -> str:
        """The beginning of a text, whose rendered form has this number of tokens.

        It is found by bisection, from the place that the mean length of a token suggests: texts may be very long.
        """
        if tokens <= self.most:
            return text
        low, high, step = len(text) * self.most // tokens, len(text), _STEP
        while low > 0 and not self._fits(text[:low]):
            low, high, step = max(low - step, 0), low - 1, 2 * step
        step = _STEP
        while low + step < high and self._fits(text[: low + step]):
            low, step = low + step, 2 * step
        high = min(high, low + step)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._fits(text[:middle]) else (low, middle - 1)
        if not low:
            raise PromptTooLong(
                f"even without its text, a demonstration has more than {self.most} tokens; "
                "shorten the template or use fewer demonstrations",
                field="template",
            )
        return text[:low]

    def _fits(self, text: str) -> bool:
        return self.count_tokens([self.task.render_demonstration(Example(0, text, self._longest))])[0] <= self.most

    @cached_property
    def _longest(self) -> str:
        """The label whose word has the most tokens."""
        lengths = self.count_tokens(self.task.label_spans)
        return self.task.labels[lengths.index(max(lengths))]


SPARE_TOKENS = 8
"""Room kept where forms of a prompt are left out, not cut (tokens): for the tokenizer's leading special tokens, with a
margin, because one prompt that is too long ends the run."""

_SPECIAL_TOKENS = 4  #: room kept for the tokenizer's leading special tokens (tokens)
_FAR_TOKENS = 256  #: least length of a text that is cut because it is far longer than the rest (tokens)
_PARTS = ("test", "judging", "search", "rest")


@dataclass(frozen=True)
class _Ruler:
    task: Task
    scorer: LabelScorer
    num_demonstrations: int

    def measure(self, examples: Sequence[Example]) -> list[int]:
        """The length of each row as a demonstration (tokens), which is that of its query and more."""
        return self.scorer.count_tokens([self.task.render_demonstration(one) for one in examples])

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


def fit_to_context(rows: DealtRows, scorer: LabelScorer) -> DealtRows:
    """The rows with the texts cut that are too long.

    No text is longer than four times the longest tenth begins with, and the prompts of every permutation fit: if need
    be, each demonstration and each query gets the same share of the context.
    """
    ruler = _Ruler(rows.task, scorer, rows.quotas.num_demonstrations)
    if ruler.opening and ruler.share < 1:
        raise PromptTooLong(
            f"the instruction has {ruler.opening:,} tokens, and a prompt of this model at most "
            f"{scorer.max_prompt_tokens:,}, which leaves no room for {rows.quotas.num_demonstrations} demonstrations; "
            "shorten the instruction",
            field="instruction",
        )
    measured = {part: ruler.measure(getattr(rows, part)) for part in _PARTS}
    lengths = sorted(length for found in measured.values() for length in found)
    most = find_far_length(lengths, _FAR_TOKENS)
    longest = [min(length, most) for length in lengths[-rows.quotas.num_demonstrations - 1 :]]
    if sum(longest) > ruler.room:
        most = min(most, ruler.share)
    bare = _measure_bare(rows.task, scorer)
    most = most if rows.most_tokens is None else min(most, rows.most_tokens + bare)  # what another wording asks for
    rows = replace(rows, most_tokens=most - bare)
    return rows if lengths[-1] <= most else _refuse_alike(_trim(rows, measured, ruler, most), most)


def find_bound(rows: DealtRows, task: Task, scorer: LabelScorer) -> int | None:
    """Largest length of a demonstration of a task that is not cut (tokens)."""
    return None if rows.most_tokens is None else rows.most_tokens + _measure_bare(task, scorer)


def _measure_bare(task: Task, scorer: LabelScorer) -> int:
    """Largest length of a demonstration without its text (tokens)."""
    return max(scorer.count_tokens([task.render_demonstration(Example(0, "", label)) for label in task.labels]))


def _trim(rows: DealtRows, measured: dict[str, list[int]], ruler: _Ruler, most: int) -> DealtRows:
    """Cut long texts. Of rows whose cut texts are equal one stays, in the test rows if one of them is there."""
    cutter = TextCutter(ruler.task, ruler.scorer.count_tokens, most)
    met, skipped, fitted = set[str](), rows.skipped_too_long, dict[str, tuple[Example, ...]]()
    for part in _PARTS:
        kept = []
        for example, length in zip(getattr(rows, part), measured[part], strict=True):
            one = replace(example, text=cutter.cut(example.text, length))
            if one.text in met:
                skipped += 1
            else:
                met.add(one.text)
                kept.append(one)
        fitted[part] = tuple(kept)
    trimmed = max(rows.trimmed_too_long, sum(length > most for found in measured.values() for length in found))
    return replace(rows, **fitted, skipped_too_long=skipped, trimmed_too_long=trimmed)  # type: ignore[arg-type]


def _refuse_alike(rows: DealtRows, most: int) -> DealtRows:
    """The rows, if those that are left fill the quotas of a set and judge it."""
    quotas, counts = rows.quotas, count_labels(rows.proposable, rows.task.labels)
    is_short = any(counts[label] < quota for label, quota in (quotas.by_label or {}).items())
    if is_short or len(rows.proposable) <= quotas.num_demonstrations or not rows.judging:
        raise InvalidDataset(
            f"the texts of {rows.skipped_too_long:,} rows are equal once they are cut to {most} tokens, "
            "and too few are left; cut what all of them begin with, or take a model with a longer context",
            field="dataset",
        )
    return rows
