"""Support examples in the forms that other tools load. Library, command and service write the same bytes.

contract  what a format shows, and how it writes that
formats   the formats, a function each

A chat model does not see the prompt that was evaluated, so its accuracy may be another.
"""

from pathlib import Path

from lens_engine.config import Use
from lens_engine.errors import InvalidConfig
from lens_engine.exports.formats import FORMATS, Format, Source
from lens_engine.result import SelectionResult
from lens_engine.types import FormatName

__all__ = [
    "FORMATS",
    "Format",
    "FormatName",
    "Source",
    "export_support_examples",
    "write_export",
]


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
