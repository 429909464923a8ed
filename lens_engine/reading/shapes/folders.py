"""Folders: a dataset that Hugging Face datasets saved, two parallel files, or a folder of texts for each label."""

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from lens_engine.errors import InvalidDataset
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.shapes.columnar import read_saved_dataset
from lens_engine.reading.table import Row, Table
from lens_engine.task.text_checks import show_names

_CONTENTS = "dataset_dict.json", "state.json"
_MOST_FILES = 200_000
_LINES_A_LABEL = 2


def read_folder(folder: Path, limits: ParsingLimits, field: str) -> Table:
    """The table of a folder.

    Raises:
        InvalidDataset: it is none of these.
    """
    if any((folder / name).exists() for name in _CONTENTS):
        return read_saved_dataset(folder, field)
    entries = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    files, folders = [one for one in entries if one.is_file()], [one for one in entries if one.is_dir()]
    if len(folders) > 1 and not files and (found := _read_texts(folders, limits)):
        return found
    if len(files) == 2 and not folders and (found := _read_pair(files, limits)):
        return found
    raise InvalidDataset(
        f"the folder holds {show_names([one.name for one in entries]) or 'nothing'}; name a file, or a folder of two "
        "files with as many lines, of texts and of labels, or of one folder of texts for each label, or one that "
        "save_to_disk wrote",
        field=field,
    )


def _read_texts(folders: list[Path], limits: ParsingLimits) -> Table | None:
    texts = [(one, folder.name) for folder in folders for one in sorted(folder.glob("*.txt"))[:_MOST_FILES]]
    if not texts:
        return None

    def read() -> Iterator[Row]:
        for path, label in texts:
            with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
                yield Row(
                    {"text": file.read(limits.max_text_characters + 1).strip(), "label": label, "file": path.name}
                )

    kind = "a folder of texts for each label"
    return Table(("text", "label", "file"), read, "folder", kind=kind, text="text", label="label", has_raw_bytes=True)


def _read_pair(files: list[Path], limits: ParsingLimits) -> Table | None:
    """Two files with as many lines; that of the labels has few different ones."""
    lines = [_Lines(path, limits) for path in files]
    kinds = [Counter(one) for one in lines]
    sizes = [one.total() for one in kinds]
    is_labels = [len(kind) > 1 and _LINES_A_LABEL * len(kind) <= size for kind, size in zip(kinds, sizes, strict=True)]
    if sizes[0] != sizes[1] or is_labels.count(True) != 1:
        return None
    labels, texts = sorted(lines, key=lambda one: not is_labels[lines.index(one)])

    def read() -> Iterator[Row]:
        for number, (text, label) in enumerate(zip_longest(texts, labels, fillvalue=""), start=1):
            yield Row({"text": text, "label": label}, number)

    kind = f"two parallel files, texts in {texts.path.name} and labels in {labels.path.name}"
    return Table(("text", "label"), read, "folder", kind=kind, text="text", label="label", has_raw_bytes=True)


class _Lines:
    """The lines of a file of UTF-8, without their ends. A line that is too long comes cut."""

    def __init__(self, path: Path, limits: ParsingLimits) -> None:
        self.path, self._longest = path, limits.max_row_characters

    def __iter__(self) -> Iterator[str]:
        with self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
            while line := file.readline(self._longest):
                yield line.rstrip("\r\n")
