"""Limits on the size of an upload."""

from dataclasses import dataclass, fields

_MIB = 2**20
_CSV_FIELD_LIMIT = 131_072
"""Largest field of the csv module (characters). The limit is global to the process, so it is not changed."""


@dataclass(frozen=True, slots=True)
class ParsingLimits:
    """Caps on one dataset, checked while it is read. All caps are inclusive.

    Raises:
        ValueError: a cap is below 1, or the cap on a text exceeds the csv module's limit.
    """

    max_bytes: int = 64 * _MIB  #: of the file, and of its texts and labels after decompression
    max_rows: int = 100_000
    max_text_characters: int = 20_000
    max_label_characters: int = 200
    max_labels: int = 200
    parquet_memory_bytes: int = 1024 * _MIB  #: address space of the child process; pyarrow alone takes 350 MiB
    parquet_seconds: float = 20.0  #: longest life of the child process

    @classmethod
    def of_own_files(cls) -> "ParsingLimits":
        """Limits for trusted local files; larger than those of the service."""
        return cls(max_bytes=2**31, max_rows=2_000_000)

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise ValueError(f"{field.name} must be positive")
        if max(self.max_text_characters, self.max_label_characters) > _CSV_FIELD_LIMIT:
            raise ValueError(f"a text or label may have at most {_CSV_FIELD_LIMIT:,} characters")

    @property
    def max_row_characters(self) -> int:
        """Longest row in the file (characters): with room for `\\uXXXX` escapes and for unused columns."""
        return max(_MIB, 16 * (self.max_text_characters + self.max_label_characters))
