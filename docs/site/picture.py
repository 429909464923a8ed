"""Draws accuracy against the number of labelled rows: python -m docs.site.picture, from docs/results/few_rows.csv."""

import csv
from math import log
from pathlib import Path
from statistics import fmean

CELLS, PICTURE = Path("docs/results/few_rows.csv"), Path("docs/images/few-rows.svg")
WAYS = {
    ("first", None): "first choice of Lens",
    ("prompt", "prompt"): "its prompt",
    ("prompt", "probabilities"): "its prompt, corrected",
    ("classifier", None): "its classifier",
    ("random", "prompt"): "random examples",
    ("random", "probabilities"): "random, corrected",
    ("zero_shot", "prompt"): "no examples",
    ("embeddings", None): "sentence embeddings",
    ("words", None): "word counting",
}
"""Contender and use (None for any), and its name in the picture."""

_LEFT, _TOP, _WIDTH, _HEIGHT, _NAMES = 44, 16, 400, 260, 190
_APART = 15  #: least distance of two names
_COLOURS = ("#1a7f37", "#0969da", "#54aeff", "#8250df", "#bc4c00", "#e09b13", "#cf222e", "#6e7781", "#9a6700")
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1f2328}.grid{stroke:#8c959f55}polyline{fill:none;stroke-width:2}"
    ".first{stroke-width:4}@media(prefers-color-scheme:dark){text{fill:#e6edf3}}"
)


def read_cells(path: Path = CELLS) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def average(cells: list[dict[str, str]], contender: str, use: str | None) -> dict[int, float]:
    """Mean accuracy on test rows by number of labelled rows; each dataset that has every number weighs the same."""
    found, sizes = dict[int, dict[str, list[float]]](), dict[str, set[str]]()
    for one in cells:
        sizes.setdefault(one["dataset"], set()).add(one["rows"])
    whole = {dataset for dataset, own in sizes.items() if len(own) == max(map(len, sizes.values()))}
    for one in cells:
        if one["contender"] == contender and use in (None, one["use"]) and one["dataset"] in whole:
            found.setdefault(int(one["rows"]), {}).setdefault(one["dataset"], []).append(float(one["test"]))
    return {rows: fmean(map(fmean, by_dataset.values())) for rows, by_dataset in sorted(found.items())}


def draw(cells: list[dict[str, str]]) -> str:
    """The picture as SVG, with the figures as its description."""
    lines = {name: average(cells, *way) for way, name in WAYS.items()}
    sizes = sorted({size for line in lines.values() for size in line})
    low = int(min(min(line.values()) for line in lines.values()) * 10) / 10
    high = -(-max(max(line.values()) for line in lines.values()) * 10 // 1) / 10

    def x(size: int) -> float:
        return _LEFT + _WIDTH * (log(size / sizes[0]) / log(sizes[-1] / sizes[0]) if sizes[1:] else 0.5)

    def y(accuracy: float) -> float:
        return _TOP + _HEIGHT * (high - accuracy) / (high - low)

    marks = [f'<text x="{x(size):.0f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">{size}</text>' for size in sizes]
    for tenth in range(round(low * 10), round(high * 10) + 1):
        height = y(tenth / 10)
        marks.append(f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{height:.1f}" y2="{height:.1f}" class="grid"/>')
        marks.append(f'<text x="{_LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{tenth * 10} %</text>')
    ends = sorted((y(line[max(line)]), name) for name, line in lines.items())
    places, last = dict[str, float](), -float(_APART)
    for height, name in ends:
        last = places[name] = max(height, last + _APART)
    for (name, line), colour in zip(lines.items(), _COLOURS, strict=True):
        points = " ".join(f"{x(size):.1f},{y(accuracy):.1f}" for size, accuracy in line.items())
        kind = ' class="first"' * (name == lines.__iter__().__next__())
        marks.append(f'<polyline points="{points}" stroke="{colour}"{kind}/>')
        marks.append(f'<circle cx="{x(max(line)):.1f}" cy="{y(line[max(line)]):.1f}" r="3.5" fill="{colour}"/>')
        place = f'x="{x(max(line)) + 10:.0f}" y="{places[name] + 4:.1f}"'
        marks.append(f'<text {place} style="fill:{colour}">{name}, {line[max(line)]:.0%}</text>')
    told = "; ".join(
        f"{name}: " + ", ".join(f"{accuracy:.0%} with {size}" for size, accuracy in line.items())
        for name, line in lines.items()
    )
    width, height = _LEFT + _WIDTH + _NAMES, _TOP + _HEIGHT + 44
    title = "Right answers by the number of labelled rows"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
        f"<title>{title}</title><desc>{told}</desc><style>{_STYLE}</style>{''.join(marks)}"
        f'<text x="{_LEFT + _WIDTH / 2:.0f}" y="{_TOP + _HEIGHT + 38}" text-anchor="middle">labelled rows</text>'
        "</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(read_cells()), "utf-8")
