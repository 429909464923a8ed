"""Finds what has to end the label words of a task, so that the tokens of none begin those of another."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from lens_engine.errors import InvalidVerbalizer
from lens_engine.scoring.labels import check_distinct
from lens_engine.task.label_end import EndedTask
from lens_engine.task.template import Task

SpanTokens = tuple[int | str, ...]

_MOST_CHARACTERS = 100
"""Longest end that is tried (characters): each beginning of it is tokenised with every label word."""

EncodeSpans = Callable[[Sequence[str]], Sequence[SpanTokens]]
"""Tokens of each label span after a query."""


def end_label_words(task: Task, encode: EncodeSpans, render_after: Callable[[], str] | None = None) -> Task:
    """The task as it is or, where the tokens of one label word begin those of another, with what ends all of them.

    The end is the shortest beginning of what follows a label word with which every word has the tokens that it has in a
    prompt, and none begins another; it has 100 characters at most. It is one text for all label words; a token may hold
    the last letters of a word and the first of its end.

    Args:
        task: without an end.
        render_after: gives what follows a label word in a prompt; None for the template's text after it and the
            separator.

    Raises:
        InvalidVerbalizer: two label words have equal tokens, or what follows them tells none from another.
    """
    spans = task.label_spans
    tokens = encode(spans)
    check_distinct(spans, tokens)
    begun = find_begun(tokens)
    if begun is None:
        return task
    follows = (task.template.tail + task.separator if render_after is None else render_after())[:_MOST_CHARACTERS]
    in_prompt = encode([span + follows for span in spans])
    for size in range(1, len(follows) + 1):
        ended = encode([span + follows[:size] for span in spans])
        is_whole = all(own == held[: len(own)] for own, held in zip(ended, in_prompt, strict=True))
        if is_whole and find_begun(ended) is None:
            return EndedTask(task, follows[:size])
    raise _refuse(task, *begun, follows)


def find_begun(span_tokens: Sequence[SpanTokens]) -> tuple[int, int] | None:
    """Two places of which the tokens at the first begin those at the second, or equal them; None if there are none."""
    order = sorted(range(len(span_tokens)), key=lambda place: tuple(map(str, span_tokens[place])))
    # What begins with a sequence follows it at once in the order.
    return next(
        (
            (shorter, longer)
            for shorter, longer in pairwise(order)
            if span_tokens[longer][: len(span_tokens[shorter])] == span_tokens[shorter]
        ),
        None,
    )


def _refuse(task: Task, shorter: int, longer: int, follows: str) -> InvalidVerbalizer:
    words = [*task.verbalizer.words.values()]
    begins = f"the label word {words[shorter]!r} begins {words[longer]!r} in the tokens of this model, "
    remedy = "and nothing ends a label word in a prompt: put a mark after {label} in the template, or set a separator"
    if follows:
        remedy = f"also with what ends it in a prompt ({follows!r}); choose another word for one of the two labels"
    return InvalidVerbalizer(begins + remedy, field=f"verbalizer.{task.labels[longer]}")
