"""The tokenizer of a server, asked by HTTP, for a machine without the model's files."""

from collections.abc import Awaitable, Callable, Iterator, Sequence

from lens_engine.errors import EndpointError
from lens_engine.scoring.tokenization import SegmentTokenizer, leading_special_tokens
from lens_engine.servers.transport import Transport

Tokenise = Callable[[str, bool], Awaitable[list[int]]]
"""Token ids of a text, with or without the special tokens before and after it."""

_AT_A_TIME = 256


class ServerTokenizer(SegmentTokenizer):
    """A `SegmentTokenizer` that asks for each new text once."""

    def __init__(self, transport: Transport, tokenise: Tokenise) -> None:
        """
        Raises:
            EndpointError: the tokenizer puts a space before every text, so that segments cannot be tokenised apart.
        """
        self._transport = transport
        self._ask = tokenise
        plain, line, both, whole = self._ask_all([("a", False), ("\n", False), ("\na", False), ("a", True)])
        if line + plain != both:
            raise EndpointError(
                f"the tokenizer of {transport.where} puts a space before every text; name the model's own tokenizer "
                "(tokenizer)"
            )
        self.leading_tokens = leading_special_tokens(plain, whole)
        self._prepare_cache()

    @property
    def distinguishes_first(self) -> bool:
        return False

    def _tokenise(self, texts: Sequence[str], *, is_first: bool) -> Iterator[list[int]]:  # noqa: ARG002  both are alike
        for start in range(0, len(texts), _AT_A_TIME):
            yield from self._ask_all([(text, False) for text in texts[start : start + _AT_A_TIME]])

    def _ask_all(self, asked: Sequence[tuple[str, bool]]) -> list[list[int]]:
        return self._transport.wait_all([self._transport.start(self._ask_one(*one)) for one in asked])

    async def _ask_one(self, text: str, special: bool) -> list[int]:
        return await self._ask(text, special)
