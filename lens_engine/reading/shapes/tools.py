"""Exports of tools: for annotation, and with examples for training language models: turns of a chat,
instructions with inputs, prompts with completions. A tool is told by the columns of a row, whatever file holds them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from lens_engine.reading.columns import TEXT_NAMES, find_usual
from lens_engine.reading.table import NAMED_ROWS, Row, Table

_NEARLY_ALL = 0.9
_STUDIO_COLUMNS = {
    *["id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "annotations", "agreement"]
}
_KINDS = ("choices", "taxonomy", "rating", "number")
TURNS = ("messages", "conversations", "contents", "conversation")
_CHATS, _ALPACA, _COMPLETIONS = "chats with a language model", "instructions (Alpaca)", "prompts and completions"
_OF_MODELS = (_CHATS, _ALPACA, _COMPLETIONS)
_USERS, _ASSISTANTS = {"user", "human"}, {"assistant", "gpt", "model", "bot", "chatgpt"}
_ARROWS = ("->", "=>")
_MOST_MARKS = 4  #: largest number of marks that end a prompt

_Cells = Mapping[str, Any]
_Answers = defaultdict[str, list[object]]
"""Those of all annotators, by question."""


class _Labelled(NamedTuple):
    """A row as its tool means it."""

    tool: str
    text: object
    labels: Mapping[str, object]  #: by the question that they answer; "label" if the tool has one question
    aside: str | None = None  #: why the row has no label to learn from, though the tool has looked at it


def adapt(table: Table) -> Table:
    """The table with columns of texts and labels, if a tool wrote nearly all of its rows; else the table."""
    sample = [row.cells for row in islice(table.rows(), NAMED_ROWS) if row.fault is None and not row.empty]
    found = [one for one in map(_read, sample) if one is not None]
    tool = max(Counter(one.tool for one in found).items(), key=lambda one: one[1], default=("", 0))
    if not found or tool[1] < _NEARLY_ALL * len(sample):
        return table

    is_labelled = tool[0] in _OF_MODELS and any(one.get("label") is not None for one in sample)
    own_names = ("text", "label") if tool[0] == _CHATS else ("label",)  # a text of the others has their answer in it
    kept = [name for name in own_names if is_labelled and name in table.names]

    def read() -> Iterator[Row]:
        for row in table.rows():
            one = _read(row.cells) if row.fault is None and not row.empty else None
            if one is not None and one.tool == tool[0]:
                own: _Cells = {name: row.cells.get(name) for name in kept}
                cells = {**row.cells, "text": one.text, **one.labels, **own}
                row = row._replace(cells=cells, aside=one.aside)
            yield row

    questions = list(dict.fromkeys(name for one in found if one.tool == tool[0] for name in one.labels))
    names = tuple(dict.fromkeys((*table.names, "text", *questions)))
    label = questions[0] if len(questions) == 1 else None
    kind = f"an export of {tool[0]}"
    return replace(table, names=names, rows=read, kind=kind, text="text", label=label, has_header=False)


def _read(cells: _Cells) -> _Labelled | None:
    """A row of a tool; None if it is of none."""
    match cells:
        case {"data": dict(data)} if "annotations" in cells or "completions" in cells:
            answers = _read_annotations(cells.get("annotations") or cells.get("completions"))
            return _join("Label Studio", _find_text(data), answers)
        case {"annotator": _, "annotation_id": _}:
            return _read_studio_min(cells)
        case {"answer": answer, "accept": list(accepted)}:
            aside = None if answer == "accept" else f"whose answer is {answer!r}"
            return _Labelled("Prodigy", cells.get("text"), {"label": accepted}, aside)
        case {"label": str(label), "answer": "accept" | "reject" | "ignore" as answer}:
            aside = "whose answer is 'ignore'" if answer == "ignore" else None
            label = label if answer == "accept" else f"not {label}"
            return _Labelled("Prodigy", cells.get("text"), {"label": label}, aside)
        case {"fields": dict(fields)} if "responses" in cells or "suggestions" in cells:
            return _join("Argilla", _find_text(fields), _read_responses(cells.get("responses")))
        case _ if any(name.endswith(".responses") for name in cells):
            return _read_flat_argilla(cells)
        case {"cats": dict(cats)}:
            return _read_cats(cells.get("text"), cats)
        case {"column 1": text, "column 2": {"cats": dict(cats)}}:
            return _read_cats(text, cats)
        case {"inputs": dict(inputs), "outputs": dict(outputs)}:
            outputs = {name: value for name, value in outputs.items() if isinstance(value, str | int | float | None)}
            labels = {"label": next(iter(outputs.values()))} if len(outputs) == 1 else outputs
            return _Labelled("LangSmith", _find_text(inputs), labels)
        case _ if any(isinstance(cells.get(key), list) and any(map(_read_turn, cells[key])) for key in TURNS):
            return _read_turns(cells)
        case {"input": list(turns), "ideal": ideal} if any(map(_read_turn, turns)):
            ideal = ideal[0] if isinstance(ideal, list) and ideal else ideal  # the first that counts as right
            return _read_turns({"messages": [*turns, {"role": "assistant", "content": ideal}]})
        case {"instruction": instruction, "output": output}:
            given = cells.get("input")
            has_input = isinstance(given, str) and given.strip()
            return _Labelled(_ALPACA, given if has_input else instruction, {"label": output})
        case {"prompt": prompt, "completion": completion}:
            text = _cut_marks(prompt) if isinstance(prompt, str) else prompt
            label = completion.strip() if isinstance(completion, str) else completion
            return _Labelled(_COMPLETIONS, text, {"label": label})
    return None


def _find_text(cells: _Cells) -> object:
    """The text among the values of an object: that with a usual name, or else the longest."""
    texts = {name: value for name, value in cells.items() if isinstance(value, str)}
    usual = _find_usual(tuple(texts))
    return texts[usual[0]] if usual else max(texts.values(), key=len, default=None)


@lru_cache(maxsize=16)
def _find_usual(names: tuple[str, ...]) -> list[str]:
    """Most rows of a file have the same names, and the usual ones are many."""
    return find_usual(names, TEXT_NAMES)


def _dicts(value: object) -> list[_Cells]:
    """The objects in a list; none of what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _join(tool: str, text: object, answers: Mapping[str, list[object]]) -> _Labelled:
    """A row with the answer of all annotators to each question; with none if they differ."""
    differ = {question for question, given in answers.items() if any(one != given[0] for one in given)}
    labels = {question: given[0] if given and question not in differ else None for question, given in answers.items()}
    return _Labelled(tool, text, labels, "whose annotators gave different labels" if differ else None)


def _read_annotations(annotations: object) -> _Answers:
    answers = _Answers(list)
    for annotation in _dicts(annotations):
        for result in _dicts(annotation.get("result")):
            value = result.get("value")
            found = next((value[kind] for kind in _KINDS if kind in value), None) if isinstance(value, dict) else None
            if found is not None and not annotation.get("was_cancelled"):
                answers[str(result.get("from_name", "label"))].append(found)
    return answers


def _read_studio_min(cells: _Cells) -> _Labelled:
    own = {name: value for name, value in cells.items() if name not in _STUDIO_COLUMNS}
    text = _find_text(own)
    labels = {name: value for name, value in own.items() if value is not text}
    labels = {name: value for name, value in labels.items() if not isinstance(value, dict) or "choices" in value}
    return _Labelled("Label Studio", text, labels)


def _read_responses(responses: object) -> _Answers:
    answers = _Answers(list)
    for values in _dicts([one.get("values") for one in _dicts(responses)]):  # one for each user
        for question, answer in values.items():
            answers[question].append(_value_of(answer))
    if isinstance(responses, dict):  # by question
        for question, given in responses.items():
            answers[question] += map(_value_of, given if isinstance(given, list) else [given])
    return answers


def _value_of(answer: object) -> object:
    return answer.get("value") if isinstance(answer, dict) else answer


def _read_flat_argilla(cells: _Cells) -> _Labelled:
    own = {name: one for name, one in cells.items() if "." not in name and name not in ("id", "_server_id", "status")}
    given = {name.removesuffix(".responses"): one for name, one in cells.items() if name.endswith(".responses")}
    answers = {name: one if isinstance(one, list) else [] for name, one in given.items()}
    return _join("Argilla", _find_text(own), answers)


def _read_cats(text: object, cats: _Cells) -> _Labelled:
    set_ones = [label for label, value in cats.items() if isinstance(value, int | float) and value >= 0.5]
    return _Labelled("spaCy", text, {"label": set_ones})


def _read_turns(cells: _Cells) -> _Labelled:
    """The last turn of the user, and the answer to it."""
    turns = next(cells[key] for key in TURNS if isinstance(cells.get(key), list))
    text: str | None = None
    label: str | None = None
    for role, words in filter(None, map(_read_turn, turns)):
        if role in _USERS:
            text, label = words, None
        elif role in _ASSISTANTS and text is not None:
            label = words
    return _Labelled(_CHATS, text, {"label": label})


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
