"""The chat template of a model: from messages to the text that the model reads."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lens_engine.errors import InvalidConfig
from lens_engine.task.special_tokens import BREAK, drop_marks, mark

_ANSWER = "\ufdd3"


class ChatTemplate:
    """Renders messages as a server with this tokenizer does (`apply_chat_template` of transformers).

    A special token that is written in a message is broken while the template renders, so that it stays text.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        """`name`: of the model, in errors."""
        self._tokenizer = tokenizer
        self._name = name
        added = tokenizer.backend_tokenizer.get_added_tokens_decoder().values()
        tokens = sorted((one.content for one in added if one.special), key=len, reverse=True)
        any_token = "|".join(map(re.escape, tokens)) or "(?!)"
        self._special = re.compile(any_token)
        self._beginning = re.compile(f"(?={any_token}).", re.DOTALL)

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The prompt for the next answer, up to the answer's first word.

        Raises:
            InvalidConfig: the template refuses the messages.
        """
        turns = [{**message, "content": self._break(message["content"])} for message in messages]
        try:
            text = self._apply(turns, add_generation_prompt=True)
        except Exception as error:
            detail = f"the chat template of {self._name} refuses these messages: {error}"
            raise InvalidConfig(detail, field="form") from error
        text += self._space_before_answer(turns, text)
        return self._special.sub(lambda found: mark(found[0]), text).replace(BREAK, "")

    def _break(self, content: str) -> str:
        return self._beginning.sub(lambda found: found[0] + BREAK, drop_marks(content))

    def _apply(self, turns: Sequence[Mapping[str, str]], *, add_generation_prompt: bool) -> str:
        text: str = self._tokenizer.apply_chat_template(
            list(turns), tokenize=False, add_generation_prompt=add_generation_prompt
        )
        return text

    def _space_before_answer(self, turns: Sequence[Mapping[str, str]], text: str) -> str:
        """What the template puts between the prompt and an answer, if it is blank. Mistral's answers begin with a
        space, which the model writes itself."""
        from jinja2 import TemplateError  # comes with what renders templates

        try:
            whole = self._apply([*turns, {"role": "assistant", "content": _ANSWER}], add_generation_prompt=False)
        except TemplateError:
            return ""
        between, _, _ = whole.removeprefix(text).partition(_ANSWER)
        return between if whole.startswith(text) and between.isspace() else ""
