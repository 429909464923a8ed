"""Label words of several tokens as a trie, so that a shared beginning is fed to the model once.

log p(label word) is a sum over its tokens, each given the tokens before it. So every distinct *proper*
prefix of a label word has to be fed after a query; the empty prefix is the query's own last token (the
root). Four single-token labels need no more tokens; DBPedia's fourteen labels need nine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lens_engine.errors import InvalidVerbalizer
from lens_engine.prompt.template import EndedTask, Task

ROOT = 0


@dataclass(frozen=True, slots=True)
class LabelTrie:
    """Proper prefixes of label words, in depth-first order; node 0 is the root and is not fed.

    `tokens[i]`, `parents[i]` and `depths[i]` describe node i (the root has token -1, parent -1,
    depth 0). `reads[l]` is label l's token path: the pairs (node, token) whose log-probabilities sum
    to the label's.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    depths: tuple[int, ...]
    reads: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def num_fed(self) -> int:
        """Number of tokens fed after each query."""
        return len(self.tokens) - 1

    @property
    def flat_reads(self) -> tuple[tuple[int, int], ...]:
        """The reads of all labels in one tuple, label after label."""
        return tuple(read for path in self.reads for read in path)

    @property
    def longest_span(self) -> int:
        """Length of the longest label word (tokens)."""
        return max(len(path) for path in self.reads)

    def path(self, node: int) -> tuple[int, ...]:
        """Nodes from the root's child down to `node`; () for the root."""
        nodes: list[int] = []
        while node != ROOT:
            nodes.append(node)
            node = self.parents[node]
        return tuple(reversed(nodes))

    def ancestry(self) -> list[list[bool]]:
        """Whether one fed node is on the path to another, or is the other  # [nodes fed, nodes fed]."""
        fed = range(1, len(self.tokens))
        return [[other in path for other in fed] for path in (set(self.path(node)) for node in fed)]

    def chains(self) -> tuple[tuple[int, ...], ...]:
        """Paths to the nodes without children; together the paths visit every node. ((),) if no token is fed."""
        inner = set(self.parents)
        return tuple(self.path(node) for node in range(len(self.tokens)) if node not in inner)


def build_label_trie(label_spans: Sequence[str], span_tokens: Sequence[Sequence[int]]) -> LabelTrie:
    """The trie of `label_spans`, whose tokens are `span_tokens`."""
    check_distinct(label_spans, span_tokens)
    # Sorting puts every node right after its parent's earlier descendants: depth-first order.
    proper = sorted({tuple(tokens[:end]) for tokens in span_tokens for end in range(len(tokens))})
    node_of = {prefix: node for node, prefix in enumerate(proper)}
    return LabelTrie(
        tokens=tuple(prefix[-1] if prefix else -1 for prefix in proper),
        parents=tuple(node_of[prefix[:-1]] if prefix else -1 for prefix in proper),
        depths=tuple(len(prefix) for prefix in proper),
        reads=tuple(
            tuple((node_of[tuple(tokens[:index])], token) for index, token in enumerate(tokens))
            for tokens in span_tokens
        ),
    )


def check_distinct(label_spans: Sequence[str], span_tokens: Sequence[Sequence[object]]) -> None:
    """Refuse label words that the model cannot tell apart."""
    if not label_spans:
        raise InvalidVerbalizer("there are no label words to score", field="verbalizer")
    seen: dict[tuple[object, ...], str] = {}
    for span, tokens in zip(label_spans, span_tokens, strict=True):
        key = tuple(tokens)
        if not key:
            raise InvalidVerbalizer(f"label word {span!r} has no tokens; choose another word", field="verbalizer")
        if key in seen:
            raise InvalidVerbalizer(
                f"label words {seen[key]!r} and {span!r} are the same tokens for this model; choose another word "
                "for one of them",
                field="verbalizer",
            )
        seen[key] = span


SpanTokens = tuple[int | str, ...]

_MOST_CHARACTERS = 100
"""Longest end that is tried (characters): each beginning of it is tokenised with every label word."""

EncodeSpans = Callable[[Sequence[str]], Sequence[SpanTokens]]
"""Tokens of each label span after a query."""


def end_label_words(task: Task, encode: EncodeSpans) -> Task:
    """The task as it is or, where the tokens of one label word begin those of another, with what ends all of them.

    The end is the shortest beginning of what follows a label word with which every word has the tokens that it has in a
    prompt, and none begins another; it has 100 characters at most. It is one text for all label words; a token may hold
    the last letters of a word and the first of its end.

    Args:
        task: without an end.
    """
    spans = task.label_spans
    tokens = encode(spans)
    check_distinct(spans, tokens)
    begun = find_begun(tokens)
    if begun is None:
        return task
    follows = (task.template.tail + task.separator)[:_MOST_CHARACTERS]
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
