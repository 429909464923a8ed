"""A result as a document: HTML that needs no other file, Markdown, and what a notebook shows."""

from typing import TYPE_CHECKING

from lens_engine.report.environment import make_environment, read_stylesheet
from lens_engine.report.section import Matrix, Section
from lens_engine.result.view import ResultView
from lens_engine.views.markdown import write_cell, write_fence, write_table
from lens_engine.views.table import Table

if TYPE_CHECKING:
    from lens_engine.result.selection_result import SelectionResult  # shows itself by this


def write_html(view: ResultView) -> str:
    """One HTML file without scripts, with the stylesheet and the charts in it."""
    template = make_environment().get_template("report.html")
    return template.render(view=view, stylesheet=read_stylesheet())


def write_fragment(result: "SelectionResult") -> str:
    """The first sections as a part of a notebook."""
    view = ResultView(result)
    sections = (view.choice, view.accuracies, view.candidates, view.examples)
    template = make_environment().get_template("fragment.html")
    return template.render(sections=sections, stylesheet=read_stylesheet())


def write_markdown(view: ResultView) -> str:
    """The same sections without charts: the tables have their figures."""
    about = [write_cell(view.about)] if view.about else []
    return "\n\n".join([f"# {write_cell(view.title)}", *about, *map(_write_section, view.sections)]) + "\n"


def _write_section(section: Section) -> str:
    tables = [*map(_tabulate_matrix, section.matrices), *section.tables, *section.folded]
    code = [f"{title}:\n\n{write_fence(text)}" for title, text in section.code]
    return "\n\n".join([f"## {section.title}", *map(write_cell, section.text), *map(write_table, tables), *code])


def _tabulate_matrix(matrix: Matrix) -> Table:
    rows = ((label, *map(str, line)) for label, line in zip(matrix.labels, matrix.counts, strict=True))
    return Table(matrix.title, ("label \\ answer", *matrix.labels), tuple(rows), words=("label \\ answer",))
