"""The words of the engine in the words of the command line."""

import json
import re
from typing import Any

SETTING = re.compile(r'set options\.([a-z_.]+) to "?(\w+)"?')
"""What the engine says of an option that the caller should set."""

_OPTION = re.compile(r"(?<=^where: )(?:form|model|num_prompts)$|`num_prompts`")
"""An option of `lens evaluate`, where the engine names a field."""

_ENDPOINT = {
    "where: endpoints": "where: --endpoints",
    "where: kind": "where: --model",
    "where: url": "where: --model",
    "where: key_variable": "where: --endpoint-key-variable",
    "where: tokenizer": "where: --tokenizer",
}
"""Fields of a server, and their options."""

_PARAMETERS = ("text_column, label_column", "text_column", "label_column", "encoding", "delimiter")


def name_flags(message: str) -> str:
    """The message with the names that options and columns have on the command line."""
    for names in _PARAMETERS:
        message = message.replace(f"({names})", f"({re.sub(r'[a-z_]+', _as_flag, names)})")
    message = re.sub(r"\(encoding: ([\w-]+)\)", r"(add --encoding \1)", message)
    message = _ENDPOINT.get(message, message).replace("(TokenPrices)", "in a file of servers (--endpoints)")
    message = _OPTION.sub(_as_flag, message)
    return SETTING.sub(lambda found: f"add --option {found[1]}={found[2]}", message)


def _as_flag(found: re.Match[str]) -> str:
    return f"--{found[0].strip('`').replace('_', '-')}"


def read_value(text: str) -> Any:
    """A value of the command line: JSON, or else a plain word."""
    try:
        return json.loads(text)
    except ValueError:
        return text
