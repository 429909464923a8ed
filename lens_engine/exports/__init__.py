"""Support examples in the forms that other tools load. Library, command and service write the same bytes.

contract     what a format shows, and how it writes that
text  json_file   the prompt that was evaluated, and everything
jsonl  csv_file   text and label word of each example
openai_chat  anthropic  gemini   turns of a chat
langchain  dspy  promptfoo   files of tools
markdown     for people
folder  retrieval_code  prompt_module   a folder that renders the prompt of each input, without Lens

A chat model does not see the prompt that was evaluated, so its accuracy may be another.
"""

from collections.abc import Mapping
from pathlib import Path

from lens_engine.config import Use
from lens_engine.errors import InvalidConfig
from lens_engine.exports.anthropic import ANTHROPIC
from lens_engine.exports.contract import ExportName, Format, Source
from lens_engine.exports.csv_file import CSV
from lens_engine.exports.dspy import DSPY
from lens_engine.exports.folder import FOLDER, pack, write_folder
from lens_engine.exports.gemini import GEMINI
from lens_engine.exports.json_file import JSON
from lens_engine.exports.jsonl import JSONL
from lens_engine.exports.langchain import LANGCHAIN
from lens_engine.exports.markdown import MARKDOWN
from lens_engine.exports.openai_chat import OPENAI_CHAT
from lens_engine.exports.promptfoo import PROMPTFOO
from lens_engine.exports.text import TEXT
from lens_engine.result import SelectionResult
from lens_engine.types import FormatName

__all__ = [
    "FORMATS",
    "ExportName",
    "Format",
    "FormatName",
    "Source",
    "export_folder",
    "export_support_examples",
    "write_export",
]

FORMATS: Mapping[FormatName, Format] = {
    "json": JSON,
    "text": TEXT,
    "jsonl": JSONL,
    "csv": CSV,
    "openai-chat": OPENAI_CHAT,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "langchain": LANGCHAIN,
    "dspy": DSPY,
    "promptfoo": PROMPTFOO,
    "markdown": MARKDOWN,
}


def export_support_examples(
    result: SelectionResult | str | Path, format: ExportName = "text", *, use: Use | None = None
) -> bytes:
    """The support examples of a result in a format that another tool loads, in UTF-8.

    Where the best prompt finds demonstrations for each input, every format but `folder` has its fixed form, and says so
    where it has comments.

    Args:
        result: a result, or the path of a file of one.
        format: a name in `FORMATS`; or `folder`, as a ZIP archive of `export_folder`.
        use: use for which the prompt is the best; None for that of the run.

    Raises:
        InvalidConfig: there is no such format or use.
        OSError, ValueError: the file cannot be read, or is no result.
    """
    if format == FOLDER:
        return pack(export_folder(result, use=use))
    if format not in FORMATS:
        raise InvalidConfig(f"there is no format {format!r}; take {', '.join((*FORMATS, FOLDER))}", field="format")
    result = _read(result)
    return write_export(Source.of_result(result, use), format)


def export_folder(result: SelectionResult | str | Path, *, use: Use | None = None) -> dict[str, bytes]:
    """The prompt of a result, of any form, as files that render each input without Lens, by their names.

    Args:
        result, use: as `export_support_examples`.

    Raises:
        InvalidConfig: there is no such use, or the result has not the pool of its prompt.
        OSError, ValueError: as `export_support_examples`.
    """
    result = _read(result)
    return write_folder(Source.of_result(result, use), result.pool)


def _read(result: SelectionResult | str | Path) -> SelectionResult:
    if isinstance(result, SelectionResult):
        return result
    return SelectionResult.model_validate_json(Path(result).read_bytes())


def write_export(source: Source, format: FormatName) -> bytes:
    """The support examples of the source in this format, in UTF-8."""
    return FORMATS[format].write(source).encode()
