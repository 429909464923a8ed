"""Cuts texts that are far longer than the rest, in the same way for a run and for its classifier."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from lens_engine.errors import PromptTooLong
from lens_engine.prompt.template import Task
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
