"""Exports of tools for annotation, and files with examples for language models. The columns of the first rows tell the
tool, whatever file holds them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

from lens_engine.files.columns import NEARLY_ALL, TEXT_NAMES, find_usual
from lens_engine.files.table import NAMED_ROWS, Row, Table

_STUDIO_COLUMNS = {
    *["id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "annotations", "agreement"]
}
_STUDIO_VALUES = ("choices", "taxonomy", "rating", "number")

_Cells = Mapping[str, Any]
_Read = tuple[object, _Cells | str] | None
"""The text of a row, and its labels by the question that they answer, "label" if there is but one; or why the row has
none to learn from. None of a row that the tool did not write.
"""


def adapt(table: Table) -> Table:
    """The table with columns of texts and labels, if a tool wrote nearly all of its first rows; else the table."""
    sample = [row.cells for row in islice(table.rows(), NAMED_ROWS) if row.fault is None and not row.empty]
    tools = ((kind, read, list(filter(None, map(read, sample)))) for kind, read in _TOOLS.items())
    tool = next((one for one in tools if len(one[2]) >= max(NEARLY_ALL * len(sample), 1)), None)
    if tool is None:
        return table
    kind, read, found = tool

    def read_rows() -> Iterator[Row]:
        for row in table.rows():
            if row.fault is None and not row.empty and (one := read(row.cells)):
                aside, labels = (one[1], {}) if isinstance(one[1], str) else (None, one[1])
                row = row._replace(cells={**row.cells, "text": one[0], **labels}, aside=aside)
            yield row

    answers = (labels for _, labels in found if not isinstance(labels, str))
    questions = list(dict.fromkeys(name for one in answers for name in one)) or ["label"]
    names = tuple(dict.fromkeys((*table.names, "text", *questions)))
    label, kind = questions[0] if len(questions) == 1 else None, f"an export of {kind}"
    return replace(table, names=names, rows=read_rows, kind=kind, text="text", label=label, has_header=False)


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


def _read_studio(cells: _Cells) -> _Read:
    """The answer of all annotators to each question; of the form JSON-MIN, the values beside the text."""
    if {"annotator", "annotation_id"} <= cells.keys():
        text, own = _find_text(cells), {name: one for name, one in cells.items() if name not in _STUDIO_COLUMNS}
        labels = {name: one.get("choices") if isinstance(one, dict) else one for name, one in own.items()}
        return text, {name: one for name, one in labels.items() if one is not None and own[name] is not text}
    data, annotations = cells.get("data"), cells.get("annotations")
    if not isinstance(data, dict) or not isinstance(annotations, list):
        return None
    answers = defaultdict[str, list[object]](list)
    for annotation in _dicts(annotations):
        for result in () if annotation.get("was_cancelled") else _dicts(annotation.get("result")):
            value = result.get("value")
            known = [value[one] for one in _STUDIO_VALUES if one in value] if isinstance(value, dict) else []
            answers[str(result.get("from_name", "label"))] += known[:1]
    if any(one != given[0] for given in answers.values() for one in given):
        return _find_text(data), "whose annotators gave different labels"
    return _find_text(data), {question: given[0] for question, given in answers.items() if given}


def _read_prodigy(cells: _Cells) -> _Read:
    """What was accepted of several choices, or whether the only one was."""
    answer, accepted, label = cells.get("answer"), cells.get("accept"), cells.get("label")
    has_choices = isinstance(accepted, list) and isinstance(answer, str)
    if not has_choices and not (isinstance(label, str) and answer in ("accept", "reject", "ignore")):
        return None
    if answer == "accept":
        return cells.get("text"), {"label": accepted if has_choices else label}
    is_no = answer == "reject" and not has_choices
    return cells.get("text"), {"label": f"not {label}"} if is_no else f"whose answer is {answer!r}"


def _read_langsmith(cells: _Cells) -> _Read:
    match cells:
        case {"inputs": dict(inputs), "outputs": dict(outputs)}:
            outputs = {name: one for name, one in outputs.items() if isinstance(one, str | int | float | None)}
            is_one = len(outputs) == 1
            return _find_text(inputs), {"label": next(iter(outputs.values()))} if is_one else outputs
    return None


def _read_turns(turns: object) -> tuple[str | None, str | None] | None:
    """The words of the last turn of the user, which may be in parts, and of the answer to it; None of no turns."""
    text = label = None
    if not any("role" in one for one in _dicts(turns)):
        return None
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


def _read_chat(cells: _Cells) -> _Read:
    found = _read_turns(cells.get("messages"))
    return found and (found[0], {"label": cells.get("label", found[1])})


def _read_eval(cells: _Cells) -> _Read:
    """The last turn, and of several ideal answers the first."""
    found = _read_turns(cells.get("input")) if "ideal" in cells else None
    return found and (found[0], _read_completion(cells))


def _read_prompt(cells: _Cells) -> _Read:
    """A prompt without the mark of its end: line breaks, an arrow, or a line of `#` alone."""
    if not {"prompt", "completion"} <= cells.keys():
        return None
    text = cells["prompt"]
    if isinstance(text, str):
        text = text.rstrip()
        head, _, last = text.rpartition("\n")
        text = text[:-2].rstrip() if text.endswith(("->", "=>")) else text if last.strip("#") else head.rstrip()
    return text, _read_completion(cells)


def _read_completion(cells: _Cells) -> _Cells:
    """The label beside a prompt, or what completes it; of several ideal answers the first."""
    found = cells.get("label", cells.get("completion", cells.get("ideal")))
    found = found[0] if "ideal" in cells and isinstance(found, list) and found else found
    return {"label": found.strip() if isinstance(found, str) else found}


_TOOLS: dict[str, Callable[[_Cells], _Read]] = {
    "Label Studio": _read_studio,
    "Prodigy": _read_prodigy,
    "LangSmith": _read_langsmith,
    "chats with a language model": _read_chat,
    "OpenAI evals": _read_eval,
    "prompts and completions": _read_prompt,
}
