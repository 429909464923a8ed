"""How the file was written that a classifier was made from."""

from pydantic import Field

from lens_engine.types import Record


class InputFormat(Record):
    """Column and dialect of the texts, so that the next file of the same kind is read without being told."""

    text_column: str | tuple[str, ...] = Field(
        description="Name of the column of texts; or of several, whose texts are joined."
    )
    delimiter: str | None = Field(None, description="Delimiter of a CSV file; null for a file without delimiters.")
    encoding: str | None = Field(None, description="Encoding of the file.")
