"""The parts of a zip archive of XML, read by expat in pieces.

What the parts unpack to, and what a reader keeps of them, is counted on the way: a small archive may hold any number of
elements, and repeat a long text in each.
"""

import zipfile
from collections.abc import Callable
from io import BufferedReader
from typing import Never
from xml.parsers import expat

from lens_engine.reading.limits import DatasetTooLarge

_CHUNK_BYTES = 2**18
_LONGEST = 2**20  #: bytes of a tag and of the archive's directory, and characters of a text
_DEEPEST = 100
_MOST_NAMES = 1_000  #: of elements and attributes; expat keeps each
_LISTED = 500  #: what an element takes that is kept (bytes), without its values

Attributes = dict[str, str]


class _Frugal:
    """A file that is not read at once: a directory of many parts takes far more memory than bytes."""

    def __init__(self, file: BufferedReader) -> None:
        self._file, self.seek, self.tell, self.seekable = file, file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        found = self._file.read(size if 0 <= size <= _LONGEST else _LONGEST + 1)
        if len(found) > _LONGEST:
            raise zipfile.BadZipFile("the directory is too long")
        return found


class Parts:
    """The parts of an archive, all of which may unpack to `most` bytes, and fill as many with what is kept of them.

    Raises:
        zipfile.BadZipFile, NotImplementedError, ValueError: the file is no archive, or a damaged one.
    """

    def __init__(self, file: BufferedReader, most: int, field: str) -> None:
        self._archive = zipfile.ZipFile(_Frugal(file))
        self._parts = {one.filename.replace("\\", "/").casefold(): one for one in self._archive.infolist()}
        self._most, self._field, self._unpacked, self._kept = most, field, 0, 0

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self._parts

    def keep(self, num_bytes: int) -> None:
        """Count what is kept."""
        self._kept += num_bytes
        if self._kept > self._most:
            self.refuse(f"{self._most:,} bytes in its cells, each with its whole text")

    def refuse(self, what: str) -> Never:
        advice = "keep the sheet and the columns of the rows alone"
        raise DatasetTooLarge(f"the workbook has more than {what}; {advice}", field=self._field)

    def read(self, name: str, start: Callable[[str, Attributes], None], end: Callable[[str, str], None]) -> None:
        """Tell the elements of a part: their names without prefixes, their attributes, and the text before their ends.

        Raises:
            Exception: the part is missing or damaged, or no XML of a workbook.
        """
        elements = _Elements(self, start, end)
        part, fed = self._parts[name.casefold()], 0
        if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack without a limit
            raise NotImplementedError
        with self._archive.open(part) as content:
            while chunk := content.read(_CHUNK_BYTES):
                fed, self._unpacked = fed + len(chunk), self._unpacked + len(chunk)
                if self._unpacked > self._most:
                    self.refuse(f"{self._most:,} bytes when it is unpacked")
                elements.feed(chunk, fed)
        elements.feed(b"", fed, is_last=True)

    def list_elements(self, name: str, *tags: str) -> list[tuple[str, Attributes]]:
        """The elements of a part with these tags, and their attributes without prefixes."""
        found = list[tuple[str, Attributes]]()

        def start(tag: str, attributes: Attributes) -> None:
            if tag in tags:
                self.keep(_LISTED + sum(map(len, attributes.values())))
                found.append((tag, {one.rpartition(":")[2]: value for one, value in attributes.items()}))

        self.read(name, start, lambda *_: None)
        return found


class _Elements:
    """Takes a part in pieces; no element may be deep, none has a name of its own, and none is without an end."""

    def __init__(self, parts: Parts, start: Callable[[str, Attributes], None], end: Callable[[str, str], None]) -> None:
        self._parts, self._start, self._end = parts, start, end
        self._text, self._depth = list[str](), 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text, parser.buffer_size = True, 2**16
        parser.StartElementHandler, parser.EndElementHandler = self._begin, self._finish
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = self._text.append, self._refuse_entities

    def feed(self, chunk: bytes, fed: int, *, is_last: bool = False) -> None:
        parser = self._parser
        parser.Parse(chunk, is_last)
        if self._depth > _DEEPEST or len(parser.intern) > _MOST_NAMES or fed - parser.CurrentByteIndex > _LONGEST:
            raise ValueError("no XML of a workbook")
        if sum(map(len, self._text)) > _LONGEST:
            self._parts.refuse(f"{_LONGEST:,} characters in a text")

    def _begin(self, tag: str, attributes: Attributes) -> None:
        self._depth += 1
        self._text.clear()
        self._start(tag.rpartition(":")[2], attributes)

    def _finish(self, tag: str) -> None:
        self._depth -= 1
        self._end(tag.rpartition(":")[2], "".join(self._text))
        self._text.clear()

    def _refuse_entities(self, *_: object) -> Never:
        raise ValueError("entities")
