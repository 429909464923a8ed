"""Label words of several tokens as a trie, so that a shared beginning is fed to the model once.

log p(label word) is a sum over its tokens, each given the tokens before it. So every distinct *proper*
prefix of a label word has to be fed after a query; the empty prefix is the query's own last token (the
root). Four single-token labels need no more tokens; DBPedia's fourteen labels need nine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lens_engine.errors import InvalidVerbalizer

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
    """The trie of `label_spans`, whose tokens are `span_tokens`.

    Raises:
        InvalidVerbalizer: as `check_distinct`.
    """
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
    """Refuse label words that the model cannot tell apart.

    Raises:
        InvalidVerbalizer: there is no label word, one has no token, or two have equal tokens; the message names both.
    """
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
