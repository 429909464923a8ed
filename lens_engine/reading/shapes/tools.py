"""Exports of tools for annotation, and files with examples for language models. The columns of the first rows tell the
tool, whatever file holds them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
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
_STUDIO_VALUES = ("choices", "taxonomy", "rating", "number")

_Cells = Mapping[str, Any]
_Answers = Mapping[str, list[object]]
"""Those of all annotators, by question."""


class _Labelled(NamedTuple):
    """A row as its tool means it."""

    text: object
    labels: Mapping[str, object]  #: by the question that they answer; "label" if the tool has one question
    aside: str | None = None  #: why the row has no label to learn from, though the tool has looked at it


class _Tool(NamedTuple):
    kind: str
    wrote: Callable[[_Cells], bool]  #: whether a row is of the tool
    read: Callable[[_Cells], _Labelled]


def adapt(table: Table) -> Table:
    """The table with columns of texts and labels, if a tool wrote nearly all of its first rows; else the table."""
    sample = [row.cells for row in islice(table.rows(), NAMED_ROWS) if row.fault is None and not row.empty]
    tools = (one for one in _TOOLS if sum(map(one.wrote, sample)) >= max(_NEARLY_ALL * len(sample), 1))
    if (tool := next(tools, None)) is None:
        return table

    def read() -> Iterator[Row]:
        for row in table.rows():
            if row.fault is None and not row.empty and tool.wrote(row.cells):
                one = tool.read(row.cells)
                row = row._replace(cells={**row.cells, "text": one.text, **one.labels}, aside=one.aside)
            yield row

    questions = list(dict.fromkeys(name for one in sample if tool.wrote(one) for name in tool.read(one).labels))
    names = tuple(dict.fromkeys((*table.names, "text", *questions)))
    label = questions[0] if len(questions) == 1 else None
    kind = f"an export of {tool.kind}"
    return replace(table, names=names, rows=read, kind=kind, text="text", label=label, has_header=False)


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


def _join(text: object, answers: _Answers) -> _Labelled:
    """A row with the answer of all annotators to each question; with none if they differ."""
    differ = {question for question, given in answers.items() if any(one != given[0] for one in given)}
    labels = {question: given[0] if given and question not in differ else None for question, given in answers.items()}
    return _Labelled(text, labels, "whose annotators gave different labels" if differ else None)


def _read_studio(cells: _Cells) -> _Labelled:
    answers = defaultdict[str, list[object]](list)
    for annotation in _dicts(cells["annotations"]):
        for result in _dicts(annotation.get("result")):
            value = result.get("value")
            known = [value[one] for one in _STUDIO_VALUES if one in value] if isinstance(value, dict) else []
            if known and not annotation.get("was_cancelled"):
                answers[str(result.get("from_name", "label"))].append(known[0])
    return _join(_find_text(cells["data"]), answers)


def _read_studio_min(cells: _Cells) -> _Labelled:
    own = {name: value for name, value in cells.items() if name not in _STUDIO_COLUMNS}
    text = _find_text(own)
    labels = {name: one.get("choices") if isinstance(one, dict) else one for name, one in own.items()}
    return _Labelled(text, {name: one for name, one in labels.items() if one is not None and own[name] is not text})


def _read_choice(cells: _Cells) -> _Labelled:
    aside = None if cells["answer"] == "accept" else f"whose answer is {cells['answer']!r}"
    return _Labelled(cells.get("text"), {"label": cells["accept"]}, aside)


def _read_binary(cells: _Cells) -> _Labelled:
    aside = "whose answer is 'ignore'" if cells["answer"] == "ignore" else None
    label = cells["label"] if cells["answer"] == "accept" else f"not {cells['label']}"
    return _Labelled(cells.get("text"), {"label": label}, aside)


def _read_argilla(cells: _Cells) -> _Labelled:
    responses = cells["responses"]
    of_users = _dicts([one.get("values") for one in _dicts(responses)])
    answers = defaultdict[str, list[object]](list)
    for values in [responses] if isinstance(responses, dict) else of_users:
        for question, given in values.items():
            given = given if isinstance(given, list) else [given]
            answers[question] += [one.get("value") if isinstance(one, dict) else one for one in given]
    return _join(_find_text(cells["fields"]), answers)


def _read_cats(cells: _Cells) -> _Labelled:
    scores = cells["cats"].items()
    return _Labelled(
        cells.get("text"), {"label": [k for k, one in scores if isinstance(one, int | float) and one >= 0.5]}
    )


def _read_lang_smith(cells: _Cells) -> _Labelled:
    outputs = {name: one for name, one in cells["outputs"].items() if isinstance(one, str | int | float | None)}
    labels = {"label": next(iter(outputs.values()))} if len(outputs) == 1 else outputs
    return _Labelled(_find_text(cells["inputs"]), labels)


def _read_chat(cells: _Cells) -> _Labelled:
    """The last turn of the user, and the answer to it, or the label beside them."""
    text = label = None
    for turn in _dicts(cells["messages"]):
        if turn.get("role") == "user":
            text, label = _read_words(turn), None
        elif turn.get("role") == "assistant" and text is not None:
            label = _read_words(turn)
    return _Labelled(text, {"label": cells.get("label", label)})


def _read_words(turn: _Cells) -> str | None:
    """The words of a turn, which may be in parts."""
    words = turn.get("content")
    if isinstance(words, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in words]
        words = "\n".join(part for part in parts if isinstance(part, str))
    return words if isinstance(words, str) else None


def _read_eval(cells: _Cells) -> _Labelled:
    ideal = cells["ideal"]
    label = ideal[0] if isinstance(ideal, list) and ideal else ideal  # the first that counts as right
    return _read_chat({"messages": cells["input"], "label": cells.get("label", label)})


def _read_completion(cells: _Cells) -> _Labelled:
    prompt, completion = cells["prompt"], cells["completion"]
    label = completion.strip() if isinstance(completion, str) else completion
    text = _cut_mark(prompt) if isinstance(prompt, str) else prompt
    return _Labelled(text, {"label": cells.get("label", label)})


def _cut_mark(prompt: str) -> str:
    """A prompt without the mark of its end: line breaks, an arrow, or a line of `#` alone."""
    text = prompt.rstrip()
    if text.endswith(("->", "=>")):
        return text[:-2].rstrip()
    head, _, last = text.rpartition("\n")
    return head.rstrip() if not last.strip("#") else text


def _has(**kinds: type) -> Callable[[_Cells], bool]:
    """Whether a row has these columns, with values of these types."""
    return lambda cells: all(isinstance(cells.get(name), kind) for name, kind in kinds.items())


def _has_turns(name: str) -> Callable[[_Cells], bool]:
    return lambda cells: any("role" in one for one in _dicts(cells.get(name)))


_TOOLS = (
    _Tool("Label Studio", _has(data=dict, annotations=list), _read_studio),
    _Tool("Label Studio", lambda cells: {"annotator", "annotation_id"} <= cells.keys(), _read_studio_min),
    _Tool("Prodigy", _has(answer=str, accept=list), _read_choice),
    _Tool(
        "Prodigy",
        lambda cells: isinstance(cells.get("label"), str) and cells.get("answer") in ("accept", "reject", "ignore"),
        _read_binary,
    ),
    _Tool("Argilla", lambda cells: _has(fields=dict)(cells) and "responses" in cells, _read_argilla),
    _Tool("spaCy", _has(cats=dict), _read_cats),
    _Tool("LangSmith", _has(inputs=dict, outputs=dict), _read_lang_smith),
    _Tool("chats with a language model", _has_turns("messages"), _read_chat),
    _Tool("OpenAI evals", lambda cells: _has_turns("input")(cells) and "ideal" in cells, _read_eval),
    _Tool("prompts and completions", lambda cells: {"prompt", "completion"} <= cells.keys(), _read_completion),
)
