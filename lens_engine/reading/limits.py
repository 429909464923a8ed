"""How much of an upload is read before it is refused."""

from dataclasses import dataclass, fields

_MIB = 2**20
_CSV_FIELD_LIMIT = 131_072
"""What the csv module takes in one field. It is a setting of the whole process, so it is left as it is."""


@dataclass(frozen=True, slots=True)
class ParsingLimits:
    """Caps on one dataset, checked while it streams in; all of them are inclusive.

    Raises ValueError for a cap below 1, or a text longer than the csv module can hold.
    """

    max_bytes: int = 64 * _MIB  #: of the file, and of the texts and labels in it once decompressed
    max_rows: int = 100_000
    max_text_characters: int = 20_000
    max_label_characters: int = 200
    max_labels: int = 200
    parquet_memory_bytes: int = 1024 * _MIB  #: address space of the child process; pyarrow alone takes 350 MiB
    parquet_seconds: float = 20.0  #: life of the child process

    @classmethod
    def of_own_files(cls) -> "ParsingLimits":
        """Limits for a person's own files on a person's own machine: wider than those of the service."""
        return cls(max_bytes=2**31, max_rows=2_000_000)

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise ValueError(f"{field.name} must be positive")
        if max(self.max_text_characters, self.max_label_characters) > _CSV_FIELD_LIMIT:
            raise ValueError(f"a text or label may have at most {_CSV_FIELD_LIMIT:,} characters")

    @property
    def max_row_characters(self) -> int:
        """The longest row as written: room for `\\uXXXX` escapes and for columns that are not used."""
        return max(_MIB, 16 * (self.max_text_characters + self.max_label_characters))
