"""Segments of a chat to token ids: what is between marks is the model's own special token, and nothing else is."""

from collections.abc import Iterator, Sequence

from tokenizers import AddedToken, Tokenizer

from lens_engine.task.special_tokens import BEGIN, mark


class MarkedTokenizer:
    """Each special token with its marks is a token of its own beside it, and is replaced by it in the end.

    So the tokenizer itself treats what is around a special token: a space that it puts before a text, or takes away.
    """

    def __init__(self, plain: Tokenizer) -> None:
        """`plain`: a tokenizer that takes special tokens in a text for text; it is changed."""
        special = {number: one for number, one in plain.get_added_tokens_decoder().items() if one.special}
        tokens = [_mark_token(one) for one in special.values()]
        plain.add_tokens(tokens)
        self._tokenizer = plain
        marked = (plain.token_to_id(one.content) for one in tokens)
        self._own = {number: own for number, own in zip(marked, special, strict=True) if number is not None}

    def encode(self, segments: Sequence[str]) -> Iterator[list[int]]:
        """Tokens of each segment. One that begins with `BEGIN`, or with a special token, is not a later part of a
        text."""
        texts = [segment.removeprefix(BEGIN) for segment in segments]
        for found in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False):
            yield [self._own.get(token, token) for token in found.ids]


def _mark_token(token: AddedToken) -> AddedToken:
    return AddedToken(
        mark(token.content),
        single_word=token.single_word,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        normalized=token.normalized,
    )
