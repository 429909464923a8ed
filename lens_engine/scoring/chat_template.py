"""The chat template of a model: from messages to the text that the model reads."""

from collections.abc import Mapping, Sequence
from typing import Any

from lens_engine.errors import InvalidConfig
from lens_engine.task.special_tokens import drop_marks, mark


class ChatTemplate:
    """Renders messages as a server with this tokenizer does (`apply_chat_template` of transformers).

    Contents are put in after rendering, so that no text of a message is taken for a special token.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        """`name`: of the model, in errors."""
        self._tokenizer = tokenizer
        self._name = name
        added = tokenizer.added_tokens_decoder.values()
        self._special = sorted((one.content for one in added if one.special), key=len, reverse=True)

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The prompt for the next answer, without the token that begins every text of the model.

        Raises:
            InvalidConfig: the template refuses the messages.
        """
        slots = [f" \ufdd2{place}\ufdd3 " for place in range(len(messages))]
        turns = [{**message, "content": slot} for message, slot in zip(messages, slots, strict=True)]
        try:
            text: str = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        except Exception as error:
            detail = f"the chat template of {self._name} refuses these messages: {error}"
            raise InvalidConfig(detail, field="form") from error
        for token in self._special:
            text = text.replace(token, mark(token))
        first = self._tokenizer.bos_token
        if first and self._tokenizer("").input_ids[:1] == [self._tokenizer.bos_token_id]:
            text = text.removeprefix(mark(first))
        for slot, message in zip(slots, messages, strict=True):
            content = drop_marks(message["content"])
            # Some templates strip their contents.
            text = text.replace(slot, content) if slot in text else text.replace(slot.strip(), content.strip())
        return text
