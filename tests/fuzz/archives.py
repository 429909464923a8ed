"""Workbooks (xlsx) whose parts, elements, attributes and values are drawn: `draw_archive(Random(seed))`."""

import io
import zipfile
from collections.abc import Iterable, Sequence
from random import Random

_NAMES = ("row", "c", "v", "t", "is", "si", "r", "rPh", "sst", "sheet", "sheetData", "xf", "cellXfs", "numFmt", "a")
_BETWEEN = (" ", "\n", "<!-- c -->", "<?p i?>", "<![CDATA[x]]>", "<a/>", "x")
_DOCTYPE = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
_MOST = 2**22  #: characters of a part
_FAR = ("ZZ9", "XFD1048576", "ALL90000", "A0", "$A$1", "1", "A", "AAAA1", "A99999999999", "\u00e91", "a2", "B 2")
_ODD = (
    "-1",
    "1e308",
    "NaN",
    "9" * 5_000,
    "<b>",
    "&a;",
    "&#0;",
    "\ud800",
    "\x01",
    "x" * 70_000,
    "\U0001f600",
    "_x0041_",
)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def draw_archive(draw: Random) -> bytes:
    """A workbook of two columns; in most of them something is odd, in some everything."""
    return _Book(draw, draw.choice((0, 0.001, 0.02, 0.3))).pack()


class _Book:
    def __init__(self, draw: Random, oddness: float) -> None:
        self._draw, self._oddness = draw, oddness

    def _pick(self, usual: object, odd: Sequence[object]) -> str:
        return str(self._draw.choice(odd) if self._draw.random() < self._oddness else usual)

    def _element(self, tag: str, children: Iterable[str] = (), /, **attributes: object) -> str:
        quote = self._pick('"', "'")
        equals, between = self._pick("=", (" = ",)), self._pick("", _BETWEEN)
        tag = self._pick("", ("x:",)) + self._pick(tag, _NAMES)
        written = "".join(f" {one.replace('_', ':')}{equals}{quote}{value}{quote}" for one, value in attributes.items())
        return f"<{tag}{written}>{between}{between.join(children)}</{tag}>"

    def pack(self) -> bytes:
        draw, file, parts = self._draw, io.BytesIO(), self._write_parts()
        for name in draw.sample(list(parts), int(self._pick(0, (1, 2)))):
            parts[name] = self._spoil(parts[name])
        with zipfile.ZipFile(file, "w") as archive:
            for name, part in parts.items():
                coded = part.encode(self._pick("utf-8", ("utf-16",)), self._pick("replace", ("surrogatepass",)))
                archive.writestr(
                    self._pick(name, (f"{name}x",)), coded, int(self._pick(zipfile.ZIP_DEFLATED, _METHODS))
                )
            for number in range(int(self._pick(0, (30_000,)))):
                archive.writestr(f"{number:x}", b"")
        content = bytearray(file.getvalue())
        for _ in range(int(self._pick(0, (1, 20)))):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        return bytes(content)

    def _write_parts(self) -> dict[str, str]:
        numbers = range(1, int(self._pick(1, (2, 5))) + 1)
        listed = (self._element("sheet", name=f"s{one}", r_id=f"rId{one}") for one in numbers)
        names = [self._pick("", ("/xl/", "../xl/", "x/")) + f"worksheets/sheet{one}.xml" for one in numbers]
        formats = (self._element("xf", numFmtId=self._pick(0, (14, 22, 164))) for _ in range(3))
        relations = (self._element("Relationship", Id=f"rId{n}", Target=name) for n, name in enumerate(names, start=1))
        return {
            "xl/workbook.xml": self._element("workbook", [self._element("sheets", listed)]),
            "xl/_rels/workbook.xml.rels": self._element("Relationships", relations),
            "xl/styles.xml": self._element("styleSheet", [self._element("cellXfs", formats)]),
            "xl/sharedStrings.xml": self._element("sst", (self._text("si", f"text {one}") for one in range(20))),
            **{f"xl/worksheets/sheet{one}.xml": self._sheet() for one in numbers},
        }

    def _text(self, name: str, words: str) -> str:
        return self._element(name, (self._element(self._pick("t", ("rPh",)), [self._pick(words, _ODD)]) for _ in "ab"))

    def _sheet(self) -> str:
        rows = [self._element("row", (self._cell(place, number) for place in "AB")) for number in range(1, 20)]
        times = int(self._pick(self._draw.choice((1, 5)), (100, _MOST)))
        return self._element("worksheet", [self._element("sheetData", [*rows, _repeat("".join(rows[9:]), times)])])

    def _cell(self, place: str, number: int) -> str:
        more = {"r": self._pick(f"{place}{number}", _FAR)} if self._draw.random() < self._oddness else {}
        if place == "A" and self._draw.random() < 0.5:
            value = self._element("v", [self._pick(self._draw.randrange(20), _ODD)])
            return self._element("c", [value], t=self._pick("s", ("b", "d", "e", "n", "str")), **more)
        words = self._draw.choice("ab") if place == "B" else f"text {number}"
        return self._element("c", [self._text("is", words)], t="inlineStr", s=self._pick(0, (1, 2, "x")), **more)

    def _spoil(self, part: str) -> str:
        draw, place = self._draw, self._draw.randrange(len(part) + 1)
        head, tail = part[:place], part[place:]
        name, numbers = draw.choice(_NAMES), range(draw.choice((9, 90_000)))
        return draw.choice(
            (
                head,
                _DOCTYPE + part,
                head + _repeat(f"<{name}>", draw.choice((3, _MOST))) + tail,
                head + _repeat(draw.choice((" ", "x", "\n", "&amp;", f"<{name}/>")), _MOST) + tail,
                f"{head}<a b='{_repeat('x', _MOST)}",
                head + "".join(f"<{name}{number}/>" for number in numbers) + tail,
                head + f"<{name}" + "".join(f" a{number}=''" for number in numbers) + "/>" + tail,
            )
        )


def _repeat(piece: str, times: int) -> str:
    return piece * max(1, min(times, _MOST // (len(piece) + 1)))
