"""Exports for annotation: Label Studio, Prodigy, Labelbox, Argilla, spaCy. Test cases of LangSmith and promptfoo."""

import json
import re
from collections import defaultdict
from typing import Any

from lens_engine.reading.shapes.tools import Cells, Labelled, Tool, agree, find_text

_STUDIO_COLUMNS = {
    *["id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "annotations", "agreement"]
}
_KINDS = ("choices", "taxonomy", "rating", "number")
_ANSWERS = ("accept", "reject", "ignore")
_EXPECTED = re.compile(r"(?:i?equals|is-?equal)\s*:\s*", re.IGNORECASE)
_OTHER_ASSERTION = re.compile(r"[a-z][a-z-]+(?:\([\d.]+\))?\s*:", re.IGNORECASE)


def _read_label_studio(cells: Cells) -> Labelled:
    answers = defaultdict[str, list[object]](list)
    for annotation in cells.get("annotations") or cells.get("completions") or ():
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        for result in annotation.get("result") or ():
            value = result.get("value") if isinstance(result, dict) else None
            if isinstance(value, dict):
                found = next((value[kind] for kind in _KINDS if kind in value), None)
                if found is not None:
                    answers[str(result.get("from_name", "label"))].append(found)
    return _join(find_text(cells["data"]), answers)


def _join(text: object, answers: dict[str, list[object]]) -> Labelled:
    found = {question: agree(given) for question, given in answers.items()}
    asides = [aside for _, aside in found.values() if aside]
    return Labelled(text, {question: one for question, (one, _) in found.items()}, asides[0] if asides else None)


def _read_studio_min(cells: Cells) -> Labelled:
    own = {name: value for name, value in cells.items() if name not in _STUDIO_COLUMNS}
    text = find_text(own)
    labels = {name: _read_choices(value) for name, value in own.items() if value is not text}
    return Labelled(text, {name: value for name, value in labels.items() if not isinstance(value, dict)})


def _read_choices(value: object) -> object:
    """The choices of a question; in a CSV file they are written as JSON."""
    if isinstance(value, str) and value.startswith('{"choices"'):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    return value["choices"] if isinstance(value, dict) and "choices" in value else value


def _read_prodigy_choice(cells: Cells) -> Labelled:
    answer = cells["answer"]
    aside = None if answer == "accept" else f"whose answer is {answer!r}"
    return Labelled(cells.get("text"), {"label": cells["accept"]}, aside)


def _read_prodigy_binary(cells: Cells) -> Labelled:
    answer, label = cells["answer"], cells["label"]
    aside = "whose answer is 'ignore'" if answer == "ignore" else None
    return Labelled(cells.get("text"), {"label": label if answer == "accept" else f"not {label}"}, aside)


def _read_labelbox(cells: Cells) -> Labelled:
    answers = defaultdict[str, list[object]](list)
    projects = [project for project in cells["projects"].values() if isinstance(project, dict)]
    for label in (label for project in projects for label in project.get("labels") or ()):
        for one in label.get("annotations", {}).get("classifications") or ():
            chosen = one.get("checklist_answers") or [one.get("radio_answer")]
            names = [answer["name"] for answer in chosen if isinstance(answer, dict) and "name" in answer]
            answers[str(one.get("name", "label"))].append(names[0] if len(names) == 1 else names)
    return _join(cells["data_row"].get("row_data"), answers)


def _is_labelbox(cells: Cells) -> bool:
    return isinstance(cells.get("data_row"), dict) and isinstance(cells.get("projects"), dict)


def _is_argilla(cells: Cells) -> bool:
    return isinstance(cells.get("fields"), dict) and ("responses" in cells or "suggestions" in cells)


def _read_argilla(cells: Cells) -> Labelled:
    answers, responses = defaultdict[str, list[object]](list), cells.get("responses")
    if isinstance(responses, list):  # one for each user
        for one in responses:
            values = one.get("values") if isinstance(one, dict) else None
            for question, answer in (values or {}).items():
                answers[question].append(_value_of(answer))
    elif isinstance(responses, dict):  # by question
        for question, given in responses.items():
            answers[question] += map(_value_of, given if isinstance(given, list) else [given])
    return _join(find_text(cells["fields"]), answers)


def _value_of(answer: object) -> object:
    return answer.get("value") if isinstance(answer, dict) else answer


def _is_flat_argilla(cells: Cells) -> bool:
    return any(name.endswith(".responses") for name in cells)


def _read_flat_argilla(cells: Cells) -> Labelled:
    answers = {
        name.removesuffix(".responses"): list(value) if isinstance(value, list) else []
        for name, value in cells.items()
        if name.endswith(".responses")
    }
    own = {
        name: value for name, value in cells.items() if "." not in name and name not in ("id", "_server_id", "status")
    }
    return _join(find_text(own), answers)


def _read_cats(cells: Cells) -> Labelled:
    text, about = (cells.get("text"), cells) if "cats" in cells else (cells["column 1"], cells["column 2"])
    set_ones = [label for label, value in about["cats"].items() if _is_set(value)]
    return Labelled(text, {"label": set_ones})


def _is_set(value: Any) -> bool:
    return isinstance(value, bool | int | float) and value >= 0.5


def _has_cats(cells: Cells) -> bool:
    about = cells if "cats" in cells else cells.get("column 2")
    return isinstance(about, dict) and isinstance(about.get("cats"), dict)


def _read_langsmith(cells: Cells) -> Labelled:
    outputs = {name: value for name, value in cells["outputs"].items() if isinstance(value, str | int | float | None)}
    labels = {"label": next(iter(outputs.values()))} if len(outputs) == 1 else outputs
    return Labelled(find_text(cells["inputs"]), labels)


def _read_promptfoo(cells: Cells) -> Labelled:
    expected = [
        one.get("value") for one in cells["assert"] if isinstance(one, dict) and "equal" in str(one.get("type"))
    ]
    return Labelled(find_text(cells["vars"]), {"label": expected})


def _read_expected(cells: Cells) -> Labelled:
    own = {name: value for name, value in cells.items() if not name.startswith("__")}
    expected = str(cells["__expected"] or "")
    if not _EXPECTED.match(expected) and _OTHER_ASSERTION.match(expected):
        return Labelled(find_text(own), {"label": None}, "whose expected value is no label")
    return Labelled(find_text(own), {"label": _EXPECTED.sub("", expected, count=1)})


ANNOTATIONS = (
    Tool(
        "Label Studio",
        lambda cells: isinstance(cells.get("data"), dict) and ("annotations" in cells or "completions" in cells),
        _read_label_studio,
    ),
    Tool("Label Studio", lambda cells: "annotator" in cells and "annotation_id" in cells, _read_studio_min),
    Tool("Prodigy", lambda cells: "answer" in cells and isinstance(cells.get("accept"), list), _read_prodigy_choice),
    Tool(
        "Prodigy",
        lambda cells: cells.get("answer") in _ANSWERS and isinstance(cells.get("label"), str),
        _read_prodigy_binary,
    ),
    Tool("Labelbox", _is_labelbox, _read_labelbox),
    Tool("Argilla", _is_argilla, _read_argilla),
    Tool("Argilla", _is_flat_argilla, _read_flat_argilla),
    Tool("spaCy", _has_cats, _read_cats),
    Tool(
        "LangSmith",
        lambda cells: isinstance(cells.get("inputs"), dict) and isinstance(cells.get("outputs"), dict),
        _read_langsmith,
    ),
    Tool(
        "promptfoo",
        lambda cells: isinstance(cells.get("vars"), dict) and isinstance(cells.get("assert"), list),
        _read_promptfoo,
    ),
    Tool("promptfoo", lambda cells: "__expected" in cells, _read_expected),
)
