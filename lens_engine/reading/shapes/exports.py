"""Exports of tools: for annotation, with test cases, and with examples for training language models: turns of a chat,
instructions with inputs, prompts with completions.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping

from lens_engine.reading.shapes.tools import Cells, Labelled, Tool, dicts, find_text, has

_STUDIO_COLUMNS = {
    *["id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "annotations", "agreement"]
}
_KINDS = ("choices", "taxonomy", "rating", "number")
_Answers = defaultdict[str, list[object]]
"""Those of all annotators, by question."""
TURNS = ("messages", "conversations", "contents", "conversation")
_USERS, _ASSISTANTS = {"user", "human"}, {"assistant", "gpt", "model", "bot", "chatgpt"}
_ARROWS = ("->", "=>")
_MOST_MARKS = 4  #: largest number of marks that end a prompt
_EXPECTED = re.compile(r"(?:i?equals|is-?equal)\s*:\s*", re.IGNORECASE)
_OTHER_ASSERTION = re.compile(r"[a-z][a-z-]+(?:\([\d.]+\))?\s*:", re.IGNORECASE)


def _read_label_studio(cells: Cells) -> Labelled:
    answers = _Answers(list)
    for annotation in dicts(cells.get("annotations") or cells.get("completions")):
        for result in dicts(annotation.get("result")):
            value = result.get("value")
            found = next((value[kind] for kind in _KINDS if kind in value), None) if isinstance(value, dict) else None
            if found is not None and not annotation.get("was_cancelled"):
                answers[str(result.get("from_name", "label"))].append(found)
    return _join(find_text(cells["data"]), answers)


def _join(text: object, answers: Mapping[str, list[object]]) -> Labelled:
    """A row with the answer of all annotators to each question; with none if they differ."""
    differ = {question for question, given in answers.items() if any(one != given[0] for one in given)}
    labels = {question: given[0] if given and question not in differ else None for question, given in answers.items()}
    return Labelled(text, labels, "whose annotators gave different labels" if differ else None)


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
    answers = _Answers(list)
    projects = dicts(list(cells["projects"].values()))
    labels = [label for project in projects for label in dicts(project.get("labels"))]
    for annotations in dicts([label.get("annotations") for label in labels]):
        for one in dicts(annotations.get("classifications")):
            chosen = dicts(one.get("checklist_answers")) or dicts([one.get("radio_answer")])
            names = [answer["name"] for answer in chosen if "name" in answer]
            answers[str(one.get("name", "label"))].append(names[0] if len(names) == 1 else names)
    return _join(cells["data_row"].get("row_data"), answers)


def _read_argilla(cells: Cells) -> Labelled:
    answers, responses = _Answers(list), cells.get("responses")
    if isinstance(responses, list):  # one for each user
        for values in dicts([one.get("values") for one in dicts(responses)]):
            for question, answer in values.items():
                answers[question].append(_value_of(answer))
    elif isinstance(responses, dict):  # by question
        for question, given in responses.items():
            answers[question] += map(_value_of, given if isinstance(given, list) else [given])
    return _join(find_text(cells["fields"]), answers)


def _value_of(answer: object) -> object:
    return answer.get("value") if isinstance(answer, dict) else answer


def _read_flat_argilla(cells: Cells) -> Labelled:
    own = {name: one for name, one in cells.items() if "." not in name and name not in ("id", "_server_id", "status")}
    given = {name.removesuffix(".responses"): one for name, one in cells.items() if name.endswith(".responses")}
    return _join(find_text(own), {name: one if isinstance(one, list) else [] for name, one in given.items()})


def _read_cats(cells: Cells) -> Labelled:
    text, about = (cells.get("text"), cells) if "cats" in cells else (cells["column 1"], cells["column 2"])
    set_ones = [label for label, value in about["cats"].items() if isinstance(value, int | float) and value >= 0.5]
    return Labelled(text, {"label": set_ones})


def _has_cats(cells: Cells) -> bool:
    about = cells if "cats" in cells else cells.get("column 2")
    return isinstance(about, dict) and has(about, cats=dict)


def _read_langsmith(cells: Cells) -> Labelled:
    outputs = {name: value for name, value in cells["outputs"].items() if isinstance(value, str | int | float | None)}
    labels = {"label": next(iter(outputs.values()))} if len(outputs) == 1 else outputs
    return Labelled(find_text(cells["inputs"]), labels)


def _read_promptfoo(cells: Cells) -> Labelled:
    expected = [one.get("value") for one in dicts(cells["assert"]) if "equal" in str(one.get("type"))]
    return Labelled(find_text(cells["vars"]), {"label": expected})


def _read_expected(cells: Cells) -> Labelled:
    text = find_text({name: value for name, value in cells.items() if not name.startswith("__")})
    expected = str(cells["__expected"] or "")
    if not _EXPECTED.match(expected) and _OTHER_ASSERTION.match(expected):
        return Labelled(text, {"label": None}, "whose expected value is no label")
    return Labelled(text, {"label": _EXPECTED.sub("", expected, count=1)})


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
    has_input = isinstance(given, str) and given.strip()
    return Labelled(given if has_input else cells["instruction"], {"label": cells["output"]})


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


TOOLS = (
    Tool(
        "Label Studio",
        lambda cells: has(cells, data=dict) and ("annotations" in cells or "completions" in cells),
        _read_label_studio,
    ),
    Tool("Label Studio", lambda cells: has(cells, annotator=object, annotation_id=object), _read_studio_min),
    Tool("Prodigy", lambda cells: has(cells, answer=object, accept=list), _read_prodigy_choice),
    Tool(
        "Prodigy",
        lambda cells: has(cells, label=str) and cells.get("answer") in ("accept", "reject", "ignore"),
        _read_prodigy_binary,
    ),
    Tool("Labelbox", lambda cells: has(cells, data_row=dict, projects=dict), _read_labelbox),
    Tool(
        "Argilla",
        lambda cells: has(cells, fields=dict) and ("responses" in cells or "suggestions" in cells),
        _read_argilla,
    ),
    Tool("Argilla", lambda cells: any(name.endswith(".responses") for name in cells), _read_flat_argilla),
    Tool("spaCy", _has_cats, _read_cats),
    Tool("LangSmith", lambda cells: has(cells, inputs=dict, outputs=dict), _read_langsmith),
    Tool("promptfoo", lambda cells: has(cells, vars=dict, **{"assert": list}), _read_promptfoo),
    Tool("promptfoo", lambda cells: "__expected" in cells, _read_expected),
    Tool("chats with a language model", _has_turns, _read_turns),
    Tool("instructions (Alpaca)", lambda cells: has(cells, instruction=object, output=object), _read_alpaca),
    Tool("prompts and completions", lambda cells: has(cells, prompt=object, completion=object), _read_completion),
)
