"""Support examples in the forms that other tools load, a function each.

Library, command and service write the same bytes. `json` is everything, without loss; `text` the prompt that was
evaluated. A chat has the messages that were evaluated: if its server takes no system message, that text begins the
first turn. The last message, or `{text}`, is the place of the live input. A chat model does not see the prompt that was
evaluated, so its accuracy may be another.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from lens_engine.classifier.candidates import SuspiciousLabel
from lens_engine.config import Use
from lens_engine.errors import InvalidConfig
from lens_engine.prompt.chat import Turn, instruct, join_system
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Template
from lens_engine.prompt.wording import show_count
from lens_engine.result import SelectionResult, SupportExamples
from lens_engine.show.words import say_expected, say_largest_class
from lens_engine.types import FormatName

SLOT = "text"
"""Name of the place of the live input."""


@dataclass(frozen=True, slots=True)
class Source:
    """The support examples for one use, and their task."""

    task: TaskRecord
    answer: SupportExamples
    model: str | None = None  #: the language model for which they were found
    best: SupportExamples | None = None  #: the best prompt, where its form is another than that of `answer`

    @classmethod
    def of_result(cls, result: SelectionResult, use: Use | None = None) -> "Source":
        """The source of a result, for a use. Raises InvalidConfig if there is no such use."""
        if use is not None and use not in get_args(Use):
            raise InvalidConfig(f"there is no use {use!r}; take prompt or probabilities", field="use")
        return cls.of_answer(result.task, result.answer_for(use), result.provenance.model)

    @classmethod
    def of_answer(cls, task: TaskRecord, answer: SupportExamples, model: str | None) -> "Source":
        """The fixed form of a prompt, which every format holds, and the prompt itself."""
        return cls(task, answer.plain, model, None if answer.fixed is None else answer)

    @property
    def note(self) -> str | None:
        """That the format holds another prompt than the best, on one line; None if it does not."""
        if self.best is None:
            return None
        return (
            f"The best prompt has the form {self.best.form.name}{_show_accuracy(self.best)}, which this format cannot "
            f"hold. This is its fixed form{_show_accuracy(self.answer)}."
        )

    @property
    def demonstrations(self) -> list[tuple[str, str]]:
        """Text and label word of each support example, in order."""
        return [(one.text, one.label_word) for one in self.answer.examples]

    @property
    def words(self) -> list[str]:
        """The label words, in the order of the labels."""
        return [one.word for one in self.task.label_words]

    @property
    def system(self) -> str:
        """The system message: the instruction, and what tells the label words."""
        words = instruct(self.words) if self.task.chat is None else self.task.chat.system
        return join_system(self.task.instruction, words)


def _show_accuracy(answer: SupportExamples) -> str:
    if answer.expected is None:
        return ""
    told = say_expected(answer.expected, is_test=answer.test is not None)
    return f", {', where '.join([told, *say_largest_class(answer.expected)])}"


@dataclass(frozen=True, slots=True)
class Format:
    """A format of exports."""

    write: Callable[[Source], str]
    media_type: str
    suffix: str  #: of a file, with its dot
    has_text: bool = False  #: whether a model gets byte for byte the prompt that was evaluated, if it is one text
    has_turns: bool = False  #: whether a model gets exactly the turns that were evaluated, if they are a chat

    def is_evaluated_prompt(self, task: TaskRecord) -> bool:
        """Whether a model gets exactly what was evaluated."""
        return self.has_text if task.chat is None else self.has_turns


_RUN = ("=", "+", "-", "@", "\t", "\r")  #: beginnings of cells that a spreadsheet runs
_NUMBER = re.compile(r"[+-][0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?%?")
_GEMINI_ROLES = {"user": "user", "assistant": "model"}
_LANGCHAIN_KINDS = {"system": "System", "user": "Human", "assistant": "AI"}
_NUNJUCKS_TAG = re.compile(r"\{[{%#]|#\}")  # the end of a comment without a beginning is an error of Nunjucks


def _dump(shown: object) -> str:
    return json.dumps(shown, ensure_ascii=False, indent=2) + "\n"


def write_json(source: Source) -> str:
    shown = {
        "model": source.model,
        "task": source.task.model_dump(mode="json"),
        "support_examples": source.answer.model_dump(mode="json"),
    }
    return _dump(shown if source.note is None else {"note": source.note, **shown})


def write_text(source: Source) -> str:
    return source.task.task().join_prompt(source.answer.prompt, f"{{{SLOT}}}")


def write_jsonl(source: Source) -> str:
    rows = ({"text": text, "label": word} for text, word in source.demonstrations)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write_csv(source: Source) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(("text", "label"))
    writer.writerows((escape_cell(text), escape_cell(word)) for text, word in source.demonstrations)
    return file.getvalue()


def escape_cell(cell: str) -> str:
    """The cell, after an apostrophe if a spreadsheet would run it (OWASP, "CSV Injection"). A number is not run."""
    return f"'{cell}" if cell.startswith(_RUN) and not _NUMBER.fullmatch(cell) else cell


def write_openai_chat(source: Source) -> str:
    return _dump({"messages": _list_messages(source)})


def write_anthropic(source: Source) -> str:
    """The system prompt of its Messages API is no message."""
    system, turns = _part_system(source)
    return _dump({"system": system, "messages": turns})


def write_gemini(source: Source) -> str:
    """It calls the assistant `model`."""
    system, turns = _part_system(source)
    contents = [{"role": _GEMINI_ROLES[one["role"]], "parts": [{"text": one["content"]}]} for one in turns]
    return _dump({"systemInstruction": {"parts": [{"text": system}]}, "contents": contents})


def _list_messages(source: Source) -> list[Turn]:
    turns, before, after = _list_turns(source)
    return [*turns, {"role": "user", "content": f"{before}{{{SLOT}}}{after}"}]


def _list_turns(source: Source) -> tuple[list[Turn], str, str]:
    """All turns but the last, of the user; and what that has before the live input, and after."""
    before, after = ("", "") if source.task.chat is None else Template(source.task.template).around_text
    turns = [{"role": "system", "content": source.system}]
    for text, word in source.demonstrations:
        turns += [{"role": "user", "content": f"{before}{text}{after}"}, {"role": "assistant", "content": word}]
    return turns, before, after


def _part_system(source: Source) -> tuple[str, list[Turn]]:
    """The system message and the turns, for an API whose system message is no turn."""
    first, *others = _list_messages(source)
    return first["content"], others


def write_langchain(source: Source) -> str:
    """A ChatPromptTemplate for `langchain_core.load.loads`. Its templates are f-strings, so braces are doubled once."""
    turns, before, after = _list_turns(source)
    messages = [_message(one["role"], _double(one["content"])) for one in turns]
    messages.append(_message("user", f"{_double(before)}{{{SLOT}}}{_double(after)}", SLOT))
    return _dump(_build(("chat", "ChatPromptTemplate"), input_variables=[SLOT], messages=messages))


def _message(role: str, template: str, *variables: str) -> dict[str, Any]:
    prompt = _build(
        ("prompt", "PromptTemplate"), input_variables=list(variables), template=template, template_format="f-string"
    )
    return _build(("chat", f"{_LANGCHAIN_KINDS[role]}MessagePromptTemplate"), prompt=prompt)


def _build(path: tuple[str, str], **kwargs: object) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "prompts", *path], "kwargs": kwargs}


def _double(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def write_dspy(source: Source) -> str:
    """The state of `dspy.Predict("text -> label")`, which its method `load` reads."""
    fields = [{"prefix": f"{name.title()}:", "description": f"${{{name}}}"} for name in ("text", "label")]
    shown: dict[str, Any] = {
        "traces": [],
        "train": [],
        "demos": [{"text": text, "label": word} for text, word in source.demonstrations],
        "signature": {"instructions": source.system, "fields": fields},
        "lm": None,
        "metadata": {"dependency_versions": {}},
    }
    return _dump(shown)


def write_promptfoo(source: Source) -> str:
    """Messages of a prompt file, which promptfoo renders by Nunjucks."""
    turns, before, after = _list_turns(source)
    escaped = [{**one, "content": escape(one["content"])} for one in turns]
    start = escape(before)
    if start.endswith("{"):  # it would join the tag that follows
        start = f"{start[:-1]}{{{{ '{{' }}}}"
    return _dump([*escaped, {"role": "user", "content": f"{start}{{{{{SLOT}}}}}{escape(after)}"}])


def escape(text: str) -> str:
    """The text as a template of Nunjucks or Jinja that renders it: its marks of tags become strings in tags."""
    return _NUNJUCKS_TAG.sub(lambda found: f"{{{{ '{found[0]}' }}}}", text)


def write_markdown(source: Source) -> str:
    answer, number = source.answer, len(source.demonstrations)
    numbered = enumerate(answer.examples, start=1)
    rows = [f"| {place} | {write_cell(one.label)} | {write_cell(one.text)} |" for place, one in numbered]
    lines = [
        f"# {show_count(number, 'support example')}{f' for {source.model}' if source.model else ''}",
        "",
        answer.reason,
        "",
        *([source.note, ""] if source.note is not None else []),
        *(["| | label | text |", "|---|---|---|", *rows, ""] if rows else []),
        "The prompt, with `{text}` in place of the live input:",
        "",
        _write_fence(write_text(source)),
    ]
    return "\n".join(lines) + "\n"


_BACKTICKS = re.compile("`+")

_MARKUP = re.compile(
    r"""(?=[\\|`*~[])
    |(?<![^\W_])(?=_)  # after a letter, none begins emphasis
    |^(?=[-+](?:[-\s]|$)|\#{1,6}(?:\s|$))  # a list or a line across, a heading
    |^\d{1,9}(?=[.)](?:\s|$))  # a numbered list
    |(?<=\s)(?=\#+$)  # the end of a heading
    |:(?=//)|www(?=\.)  # an address, of which GitHub makes a link""",
    re.VERBOSE,
)
"""What a backslash stands behind, so that Markdown reads no markup."""

_HTML = str.maketrans({"<": "&lt;", ">": "&gt;", '"': "&quot;"})
_ENTITY = re.compile(r"&(?=#?\w+;)")


def write_cell(text: str) -> str:
    """A text on one line, without markup; no HTML either where a reader of Markdown lets it pass."""
    escaped = _MARKUP.sub(r"\g<0>\\", " ".join(text.split()))
    return _ENTITY.sub("&amp;", escaped).translate(_HTML)


def _write_fence(text: str) -> str:
    """A block of code that holds the text as it is."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def write_suspicious_labels(found: Iterable[SuspiciousLabel], texts: Mapping[int, str]) -> str:
    """A row for each suspicious label, with its number from 1 and its text; `texts`: of the dataset, by row."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(("row", "text", "label", "likelier", "probability", "probability_of_likelier"))
    for one in found:
        words = map(escape_cell, (texts[one.row], one.label, one.likelier))
        writer.writerow((one.row + 1, *words, round(one.probability, 4), round(one.probability_of_likelier, 4)))
    return file.getvalue()


FORMATS: Mapping[FormatName, Format] = {
    "json": Format(write_json, "application/json", ".json", has_text=True, has_turns=True),
    "text": Format(write_text, "text/plain; charset=utf-8", ".txt", has_text=True, has_turns=True),
    "jsonl": Format(write_jsonl, "application/jsonl", ".jsonl"),
    "csv": Format(write_csv, "text/csv; charset=utf-8", ".csv"),
    "openai-chat": Format(write_openai_chat, "application/json", ".json", has_turns=True),
    "anthropic": Format(write_anthropic, "application/json", ".json", has_turns=True),
    "gemini": Format(write_gemini, "application/json", ".json", has_turns=True),
    "langchain": Format(write_langchain, "application/json", ".json", has_turns=True),
    "dspy": Format(write_dspy, "application/json", ".json"),
    "promptfoo": Format(write_promptfoo, "application/json", ".json", has_turns=True),
    "markdown": Format(write_markdown, "text/markdown; charset=utf-8", ".md"),
}


def export_support_examples(
    result: SelectionResult | str | Path, format: FormatName = "text", *, use: Use | None = None
) -> bytes:
    """The support examples of a result in a format that another tool loads, in UTF-8.

    Where the best prompt finds demonstrations for each input, every format has its fixed form, and says so where it
    has comments.

    Args:
        result: a result, or the path of a file of one.
        format: a name in `FORMATS`.
        use: use for which the prompt is the best; None for that of the run.

    Raises:
        InvalidConfig: there is no such format or use.
        OSError, ValueError: the file cannot be read, or is no result.
    """
    if format not in FORMATS:
        raise InvalidConfig(f"there is no format {format!r}; take {', '.join(FORMATS)}", field="format")
    if not isinstance(result, SelectionResult):
        result = SelectionResult.model_validate_json(Path(result).read_bytes())
    return write_export(Source.of_result(result, use), format)


def write_export(source: Source, format: FormatName) -> bytes:
    """The support examples of the source in this format, in UTF-8."""
    return FORMATS[format].write(source).encode()
