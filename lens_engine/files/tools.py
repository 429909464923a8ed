"""Exports of tools for annotation, and files with examples for language models. The columns of the first rows tell the
tool, whatever file holds them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from lens_engine.files.columns import NEARLY_ALL, TEXT_NAMES, find_usual
from lens_engine.files.table import NAMED_ROWS, Row, Table

_STUDIO_COLUMNS = {
    *["id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "annotations", "agreement"]
}
_STUDIO_VALUES = ("choices", "taxonomy", "rating", "number")

_Cells = Mapping[str, Any]


class _Tool(NamedTuple):
    kind: str
    wrote: Callable[[_Cells], object]  #: whether a row is of the tool
    text: Callable[[_Cells], object]
    labels: Callable[[_Cells], _Cells | str]
    """By the question that they answer, "label" if there is but one; or why the row has none to learn from."""


def adapt(table: Table) -> Table:
    """The table with columns of texts and labels, if a tool wrote nearly all of its first rows; else the table."""
    sample = [row.cells for row in islice(table.rows(), NAMED_ROWS) if row.fault is None and not row.empty]
    tools = (one for one in _TOOLS if sum(map(bool, map(one.wrote, sample))) >= max(NEARLY_ALL * len(sample), 1))
    if (tool := next(tools, None)) is None:
        return table

    def read() -> Iterator[Row]:
        for row in table.rows():
            if row.fault is None and not row.empty and tool.wrote(row.cells):
                labels = tool.labels(row.cells)
                aside, labels = (labels, {}) if isinstance(labels, str) else (None, labels)
                row = row._replace(cells={**row.cells, "text": tool.text(row.cells), **labels}, aside=aside)
            yield row

    answers = [tool.labels(one) for one in sample if tool.wrote(one)]
    questions = list(dict.fromkeys(name for one in answers if not isinstance(one, str) for name in one)) or ["label"]
    names = tuple(dict.fromkeys((*table.names, "text", *questions)))
    label = questions[0] if len(questions) == 1 else None
    kind = f"an export of {tool.kind}"
    return replace(table, names=names, rows=read, kind=kind, text="text", label=label, has_header=False)


def _find_text(cells: _Cells) -> object:
    """The text among the values of an object: that with a usual name, or else the longest."""
    texts = {name: value for name, value in cells.items() if isinstance(value, str) and name not in _STUDIO_COLUMNS}
    usual = _find_usual(tuple(texts))
    return texts[usual[0]] if usual else max(texts.values(), key=len, default=None)


@lru_cache(maxsize=16)
def _find_usual(names: tuple[str, ...]) -> list[str]:
    """Most rows of a file have the same names, and the usual ones are many."""
    return find_usual(names, TEXT_NAMES)


def _dicts(value: object) -> list[_Cells]:
    """The objects in a list; none of what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _read_studio(cells: _Cells) -> _Cells | str:
    """The answer of all annotators to each question."""
    answers = defaultdict[str, list[object]](list)
    for annotation in _dicts(cells["annotations"]):
        for result in () if annotation.get("was_cancelled") else _dicts(annotation.get("result")):
            value = result.get("value")
            known = [value[one] for one in _STUDIO_VALUES if one in value] if isinstance(value, dict) else []
            answers[str(result.get("from_name", "label"))] += known[:1]
    if any(one != given[0] for given in answers.values() for one in given):
        return "whose annotators gave different labels"
    return {question: given[0] for question, given in answers.items() if given}


def _read_studio_min(cells: _Cells) -> _Cells:
    text, own = _find_text(cells), {name: one for name, one in cells.items() if name not in _STUDIO_COLUMNS}
    labels = {name: one.get("choices") if isinstance(one, dict) else one for name, one in own.items()}
    return {name: one for name, one in labels.items() if one is not None and own[name] is not text}


def _read_answer(cells: _Cells) -> _Cells | str:
    """What was accepted of several choices, or whether the only one was."""
    answer, label = cells["answer"], cells.get("accept", cells.get("label"))
    if answer == "reject" and "accept" not in cells:
        return {"label": f"not {label}"}
    return {"label": label} if answer == "accept" else f"whose answer is {answer!r}"


def _read_outputs(cells: _Cells) -> _Cells:
    outputs = {name: one for name, one in cells["outputs"].items() if isinstance(one, str | int | float | None)}
    return {"label": next(iter(outputs.values()))} if len(outputs) == 1 else outputs


def _read_turns(turns: object) -> tuple[str | None, str | None]:
    """The words of the last turn of the user, which may be in parts, and of the answer to it."""
    text = label = None
    for turn in _dicts(turns):
        words = turn.get("content")
        if isinstance(words, list):
            parts = [part.get("text") if isinstance(part, dict) else part for part in words]
            words = "\n".join(part for part in parts if isinstance(part, str))
        words = words if isinstance(words, str) else None
        if turn.get("role") == "user":
            text, label = words, None
        elif turn.get("role") == "assistant" and text is not None:
            label = words
    return text, label


def _read_prompt(cells: _Cells) -> object:
    """A prompt without the mark of its end: line breaks, an arrow, or a line of `#` alone."""
    if not isinstance(prompt := cells["prompt"], str):
        return prompt
    text = prompt.rstrip()
    if text.endswith(("->", "=>")):
        return text[:-2].rstrip()
    head, _, last = text.rpartition("\n")
    return head.rstrip() if not last.strip("#") else text


def _read_completion(cells: _Cells) -> _Cells:
    """The label beside a prompt, or what completes it; of several ideal answers the first."""
    found = cells.get("label", cells.get("completion", cells.get("ideal")))
    found = found[0] if "ideal" in cells and isinstance(found, list) and found else found
    return {"label": found.strip() if isinstance(found, str) else found}


def _has(**kinds: type) -> Callable[[_Cells], bool]:
    """Whether a row has these columns, with values of these types."""
    return lambda cells: all(isinstance(cells.get(name), kind) for name, kind in kinds.items())


def _has_turns(cells: _Cells, name: str) -> bool:
    return any("role" in one for one in _dicts(cells.get(name)))


_TOOLS = (
    _Tool("Label Studio", _has(data=dict, annotations=list), lambda row: _find_text(row["data"]), _read_studio),
    _Tool("Label Studio", lambda row: {"annotator", "annotation_id"} <= row.keys(), _find_text, _read_studio_min),
    _Tool("Prodigy", _has(answer=str, accept=list), lambda row: row.get("text"), _read_answer),
    _Tool(
        "Prodigy",
        lambda row: isinstance(row.get("label"), str) and row.get("answer") in ("accept", "reject", "ignore"),
        lambda row: row.get("text"),
        _read_answer,
    ),
    _Tool("LangSmith", _has(inputs=dict, outputs=dict), lambda row: _find_text(row["inputs"]), _read_outputs),
    _Tool(
        "chats with a language model",
        lambda row: _has_turns(row, "messages"),
        lambda row: _read_turns(row["messages"])[0],
        lambda row: {"label": row.get("label", _read_turns(row["messages"])[1])},
    ),
    _Tool(
        "OpenAI evals",
        lambda row: "ideal" in row and _has_turns(row, "input"),
        lambda row: _read_turns(row["input"])[0],
        _read_completion,
    ),
    _Tool(
        "prompts and completions", lambda row: {"prompt", "completion"} <= row.keys(), _read_prompt, _read_completion
    ),
)
