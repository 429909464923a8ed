"""Segments to token ids: each segment is tokenised alone, and only once.

A prompt's tokens are the tokenizer's leading special tokens (BOS, for some), then the tokens of each
segment. Segments are tokenised alone, so that the tokens of a prefix never depend on the text after it.
Some tokenizers put a space before every text (SentencePiece's "▁"). Only the first segment of a prompt
may get this space, so later segments use a copy of the tokenizer without that step.
"""

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tokenizers import Tokenizer

Tokens = tuple[int, ...]

_MAX_CACHED_TOKENS = 20_000_000
"""About 100 MiB."""
_TEXTS_AT_A_TIME, _CHARACTERS_AT_A_TIME = 1_000, 100_000
"""Bounds of one call of the tokenizer, because it keeps about 100 bytes for each token until the call ends."""


class SegmentTokenizer:
    """Tokenises segments apart and remembers the result.

    A special token written in a text ("<|endoftext|>") is tokenised as plain text.

    Args:
        backend: the model's own tokenizer; it is copied, not changed.
        max_cached_tokens: if the remembered texts have more tokens than this, all are forgotten.
    """

    def __init__(self, backend: Tokenizer, *, max_cached_tokens: int = _MAX_CACHED_TOKENS) -> None:
        description = backend.to_str()
        content, whole = (backend.encode("a", add_special_tokens=added).ids for added in (False, True))
        self.leading_tokens = leading_special_tokens(content, whole)
        self._first = _plain_tokenizer(description)
        continuing = _without_prefix_space(description)
        self._continuing = self._first if continuing == description else _plain_tokenizer(continuing)
        self._prepare_cache(max_cached_tokens)

    def _prepare_cache(self, max_cached_tokens: int = _MAX_CACHED_TOKENS) -> None:
        self._max_cached_tokens = max_cached_tokens
        self._cached: dict[tuple[bool, str], array[int]] = {}  # a tuple of integers would take ten times the memory
        self.num_cached_tokens = 0

    def encode_prefixes(self, prefixes: Sequence[Sequence[str]]) -> list[Tokens]:
        """Tokens of each prefix: the leading special tokens, then all segments."""
        first = self._encode((segments[0] for segments in prefixes if segments), is_first=True)
        later = self._encode((segment for segments in prefixes for segment in segments[1:]), is_first=False)
        return [
            self.leading_tokens
            + (first[segments[0]] if segments else ())
            + tuple(token for segment in segments[1:] for token in later[segment])
            for segments in prefixes
        ]

    def encode_queries(self, queries: Sequence[str], *, is_first: bool) -> list[Tokens]:
        """Tokens of each query; `is_first` says that no segment precedes it."""
        encoded = self._encode(queries, is_first=is_first)
        return [encoded[query] for query in queries]

    def encode_spans(self, label_spans: Sequence[str]) -> list[Tokens]:
        """Tokens of each label span after a query."""
        encoded = self._encode(label_spans, is_first=False)
        return [encoded[span] for span in label_spans]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text as a later segment of a prompt.

        The texts are remembered as far as there is room: most rows of a large dataset are counted and never asked.
        """
        missing = [text for text in dict.fromkeys(texts) if (False, text) not in self._cached]
        counts = dict[str, int]()
        for text, tokens in zip(missing, self._tokenise(missing, is_first=False), strict=True):
            counts[text] = len(tokens)
            if self.num_cached_tokens <= self._max_cached_tokens:
                self._keep(text, tokens, is_first=False)
        return [counts[text] if text in counts else len(self._cached[False, text]) for text in texts]

    def count_once(self, texts: Sequence[str]) -> list[int]:
        """As `count`, but nothing is remembered, and several threads may call it."""
        return [len(tokens) for tokens in self._tokenise(texts, is_first=False)]

    @property
    def distinguishes_first(self) -> bool:
        """Whether a text has other tokens as the first segment of a prompt than as a later one."""
        return self._continuing is not self._first

    def _encode(self, texts: Iterable[str], *, is_first: bool) -> dict[str, Tokens]:
        is_first = is_first and self.distinguishes_first  # otherwise both have the same tokens
        wanted = dict.fromkeys(texts)
        self._remember(wanted, is_first=is_first)
        return {text: tuple(self._cached[is_first, text]) for text in wanted}

    def _remember(self, texts: Iterable[str], *, is_first: bool) -> None:
        """Tokenise the texts that are not remembered, each only once."""
        if self.num_cached_tokens > self._max_cached_tokens:
            self._cached.clear()
            self.num_cached_tokens = 0
        missing = [text for text in texts if (is_first, text) not in self._cached]
        for text, tokens in zip(missing, self._tokenise(missing, is_first=is_first), strict=True):
            self._keep(text, tokens, is_first=is_first)

    def _keep(self, text: str, tokens: list[int], *, is_first: bool) -> None:
        self._cached[is_first, text] = array("I", tokens)
        self.num_cached_tokens += max(len(tokens), 1)  # an empty text takes memory too

    def _tokenise(self, texts: Sequence[str], *, is_first: bool) -> Iterator[list[int]]:
        tokenizer = self._first if is_first else self._continuing
        for batch in _cut(texts):
            for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                yield encoding.ids


def _cut(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in pieces for one call each."""
    piece, size = list[str](), 0
    for text in texts:
        if piece and (len(piece) == _TEXTS_AT_A_TIME or size + len(text) > _CHARACTERS_AT_A_TIME):
            yield piece
            piece, size = [], 0
        piece.append(text)
        size += len(text)
    if piece:
        yield piece


def leading_special_tokens(content: Sequence[int], whole: Sequence[int]) -> Tokens:
    """The special tokens that a tokenizer puts before a text, without those that it puts after it. `content`, `whole`:
    tokens of a text without all these, and with them.
    """
    for start in range(len(whole) - len(content) + 1):
        if whole[start : start + len(content)] == content:
            return tuple(whole[:start])
    return ()


def _plain_tokenizer(description: str) -> Tokenizer:
    tokenizer = Tokenizer.from_str(description)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _without_prefix_space(description: str) -> str:
    """The tokenizer's JSON without the step that puts a space before a text."""
    fields: dict[str, Any] = json.loads(description)
    before = json.dumps(fields)
    fields["normalizer"] = _drop_prefix_space(fields.get("normalizer"))
    fields["pre_tokenizer"] = _drop_prefix_space(fields.get("pre_tokenizer"))
    after = json.dumps(fields)
    return description if after == before else after


def _drop_prefix_space(step: dict[str, Any] | None) -> dict[str, Any] | None:
    if step is None or step["type"] == "Prepend":
        return None
    if step["type"] == "Sequence":
        key = "normalizers" if "normalizers" in step else "pretokenizers"
        kept = [kept for inner in step[key] if (kept := _drop_prefix_space(inner)) is not None]
        return {**step, key: kept}
    changes: dict[str, Any] = {}
    if step.get("add_prefix_space"):
        changes["add_prefix_space"] = False
    if step.get("prepend_scheme", "never") != "never":
        changes["prepend_scheme"] = "never"
    return {**step, **changes}
