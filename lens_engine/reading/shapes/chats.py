"""Examples for training language models: turns of a chat, instructions with inputs, prompts with completions."""

from lens_engine.reading.shapes.tools import Cells, Labelled, Tool, has

TURNS = ("messages", "conversations", "contents", "conversation")
_USERS, _ASSISTANTS = {"user", "human"}, {"assistant", "gpt", "model", "bot", "chatgpt"}
_ARROWS = ("->", "=>")
_MOST_MARKS = 4
"""Largest number of marks that end a prompt."""


def _has_turns(cells: Cells) -> bool:
    return any(isinstance(cells.get(key), list) and any(map(_read_turn, cells[key])) for key in TURNS)


def _read_turns(cells: Cells) -> Labelled:
    """The last turn of the user, and the answer to it."""
    turns = next(cells[key] for key in TURNS if isinstance(cells.get(key), list))
    text: str | None = None
    label: str | None = None
    for role, words in filter(None, map(_read_turn, turns)):
        if role in _USERS:
            text, label = words, None
        elif role in _ASSISTANTS and text is not None:
            label = words
    return Labelled(text, {"label": label})


def _read_turn(turn: object) -> tuple[str, str | None] | None:
    """The role and the words of a turn; None if it is none."""
    if not isinstance(turn, dict):
        return None
    role = turn.get("role", turn.get("from"))
    words = next((turn[key] for key in ("content", "value", "parts", "text") if key in turn), None)
    if isinstance(words, list):  # parts, some of them pictures
        parts = [part.get("text") if isinstance(part, dict) else part for part in words]
        words = "\n".join(part for part in parts if isinstance(part, str))
    return (role.casefold(), words if isinstance(words, str) else None) if isinstance(role, str) else None


def _read_alpaca(cells: Cells) -> Labelled:
    given = cells.get("input")
    return Labelled(
        given if isinstance(given, str) and given.strip() else cells["instruction"], {"label": cells["output"]}
    )


def _cut_marks(prompt: str) -> str:
    """A prompt without what marks its end: line breaks, arrows, and lines of `#` alone."""
    for _ in range(_MOST_MARKS):
        text = prompt.rstrip()
        head, line_break, last = text.rpartition("\n")
        if text.endswith(_ARROWS):
            prompt = text[:-2]
        elif line_break and not last.strip().strip("#"):
            prompt = head
        else:
            break
    return prompt.rstrip()


def _read_completion(cells: Cells) -> Labelled:
    prompt, completion = cells["prompt"], cells["completion"]
    text = _cut_marks(prompt) if isinstance(prompt, str) else prompt
    return Labelled(text, {"label": completion.strip() if isinstance(completion, str) else completion})


CHATS = (
    Tool("chats with a language model", _has_turns, _read_turns),
    Tool("instructions (Alpaca)", lambda cells: has(cells, instruction=object, output=object), _read_alpaca),
    Tool("prompts and completions", lambda cells: has(cells, prompt=object, completion=object), _read_completion),
)
