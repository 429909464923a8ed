"""What README and docs claim, compared with what is there."""

import ast
import itertools
import json
import re
import tomllib
from ast import literal_eval
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace

import pytest
import yaml

import lens_engine
from docs.site import picture, reference
from lens_cli.application import create_application
from lens_cli.sample import SAMPLE_SPEC
from lens_engine.testing import TableScorer
from tests.unit.lens_engine.test_floors import FLOORS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
_FIGURES = ("estimate", "low", "high", "naive", "test")
PACKAGES = ("lens_engine", "app", "lens_cli", "lens_client", "worker", "migrations", "lab", "docs")


def read(path: Path) -> str:
    return path.read_text("utf-8")


def code_blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", read(page), re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def text_block(page: Path, first: str) -> list[str]:
    """The lines of the one `text` block that begins like this."""
    (block,) = (block for block in code_blocks(page, "text") if block.startswith(first))
    return block.splitlines()


def packages() -> set[str]:
    """Folders with code: not those that hold an `__init__.py` alone, nor the versions of the schema."""
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path.name != "__init__.py")
    found = {f"{path.parent.relative_to(ROOT)}/" for path in paths} - {"migrations/versions/"}
    return found | {f"{Path(folder).parent}/" for folder in found if folder.count("/") > 1}


def test_accuracies_of_classifiers_are_those_of_the_cells() -> None:
    cells = picture.read_cells(ROOT / "docs/results/classifiers.csv")
    kinds = {
        "bag of words": lambda cell: cell["classifier"] == "bag of words",
        "states, one random prompt": lambda cell: cell["classifier"] == "hidden states, one prompt",
        "**states and words, one random prompt**": lambda cell: cell["chosen"] == "True",
    }
    for name, is_kind in kinds.items():
        row = next(line for line in read(ROOT / "docs/results.md").splitlines() if line.startswith(f"| {name} |"))
        for shown, dataset in zip(row.split("|")[2:-2], ("sst2", "sst5", "trec", "clinc40"), strict=True):
            own = [cell for cell in cells if cell["dataset"] == dataset and is_kind(cell)]
            right = sum(int(cell["right_of_300"]) for cell in own) / len(own) / 300
            log_loss = sum(float(cell["test_log_loss"]) for cell in own) / len(own)
            assert shown.strip(" *") == f"{right:.3f}, {log_loss:.3f}", (name, dataset)


METHODS = ("zero_shot", "random", "random_and_validation", "fixed", "nearest", "fixed+nearest", "chosen")
SIZES = ("20", "50", "100")
DATASETS = ("sst-2", "sst-5", "trec", "clinc40", "subj")
BUNDLED = {"model": "smollm2-135m-instruct", "wordings": "one"}
SECOND = {"model": "qwen2.5-coder-0.5b-instruct", "wordings": "one"}
PROMPTS = picture.read_cells(ROOT / "docs/results/prompts.csv")


def accuracy_of(cells: list[dict[str, str]], **names: str) -> float:
    own = [cell for cell in cells if names.items() <= cell.items()]
    return sum(int(cell["right_of_test"]) for cell in own) / sum(int(cell["tested"]) for cell in own)


def show_accuracies(cells: list[dict[str, str]], **names: str) -> list[str]:
    """Those of both uses, for each dataset."""
    uses = ("prompt", "probabilities")
    return [", ".join(f"{accuracy_of(cells, dataset=one, use=use, **names):.3f}" for use in uses) for one in DATASETS]


def table_after(page: Path, heading: str) -> list[list[str]]:
    """The cells below the head, without the names of the rows, of the first table after a heading."""
    _, _, rows = read(page).partition(heading)[2].partition("|---")
    return [
        [cell.strip() for cell in row.split("|")[2:-1]]
        for row in itertools.takewhile(lambda line: line.startswith("| "), rows.splitlines()[1:])
    ]


def test_figures_of_few_rows_are_those_of_the_runs() -> None:
    cells = picture.read_cells(ROOT / "docs/results/few_rows.csv")
    assert read(ROOT / "docs/images/few-rows.svg") == picture.draw(cells)
    rows = table_after(ROOT / "docs/results.md", "## Few rows")
    twice = [(way, use) for way in ("prompt", "random", "zero_shot") for use in ("prompt", "probabilities")]
    ways = [("first", None), ("classifier", None), *twice[:4], ("embeddings", None), ("words", None), *twice[4:]]
    for row, (way, use) in zip(rows, ways, strict=True):
        assert row == [f"{mean:.3f}" for mean in picture.average(cells, way, use).values()], way
    first = [cell for cell in cells if cell["contender"] == "first"]
    every = (*SIZES, "200")
    errors = [[float(one["estimate"]) - float(one["test"]) for one in first if one["rows"] == n] for n in every]
    assert [f"{100 * fmean(one):.1f}" for one in errors] == ["3.7", "-4.8", "-2.6", "-1.7"]
    ways = [("first", None), ("prompt", "prompt"), ("prompt", "probabilities")]
    for row, (way, use) in zip(table_after(ROOT / "docs/results.md", "With 100 rows, by"), ways, strict=False):
        for shown, name in zip(row, ("sst-2", "subj", "sst-5", "trec", "clinc40"), strict=True):
            own = [one for one in cells if (one["dataset"], one["rows"], one["contender"]) == (name, "100", way)]
            assert shown == f"{fmean(float(one['test']) for one in own if use in (None, one['use'])):.3f}", name
    held = [float(one["low"]) <= float(one["test"]) <= float(one["high"]) for one in first]
    assert (sum(held), len(held)) == (30, 37)


def test_figures_of_honesty_are_those_of_the_choices() -> None:
    cells = picture.read_cells(ROOT / "docs/results/honesty.csv")
    for place, n in enumerate(SIZES):
        own = [{name: float(cell[name]) for name in _FIGURES} for cell in cells if cell["rows"] == n]
        means = [100 * fmean(one[name] - one["test"] for one in own) for name in ("estimate", "naive")]
        held = round(100 * fmean(one["low"] <= one["test"] <= one["high"] for one in own))
        uses = [[one for one in cells if one["rows"] == n and one["use"] == use] for use in ("prompt", "probabilities")]
        right = [[f"{fmean(float(one[way]) for one in of):.3f}" for of in uses] for way in ("test", "random", "none")]
        shown = [row[place] for row in table_after(ROOT / "docs/results.md", "From this table")]
        assert shown == [*(f"{mean:.1f}" for mean in means), str(held), *map("; ".join, right)]


def test_pages_show_the_same_demonstration() -> None:
    blocks = {tuple(text_block(ROOT / page, "Use the")) for page in ("README.md", "docs/tutorial.md")}
    assert len(blocks) == 1


@pytest.mark.parametrize(
    ("heading", "model", "methods"),
    [("## Prompts", BUNDLED, (*METHODS, "table")), ("### A second model", SECOND, METHODS)],
)
def test_accuracies_are_those_of_cells(heading: str, model: dict[str, str], methods: tuple[str, ...]) -> None:
    for row, method in zip(table_after(ROOT / "docs/results.md", heading), methods, strict=True):
        assert row == show_accuracies(PROMPTS, method=method, **model), method


def test_tokens_of_today_are_those_of_cells() -> None:
    own = [cell for cell in PROMPTS if BUNDLED.items() <= cell.items()]
    today, before = (sum(int(one["tokens"]) for one in own if one["method"] == name) for name in ("table", "chosen"))
    assert f"{100 * today / before:.0f} % of the tokens" in read(ROOT / "docs/results.md")


def test_newest_entry_of_changelog_is_the_version() -> None:
    versions = re.findall(r"^## \[(.+?)\]", read(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == lens_engine.__version__


def test_readme_has_100_lines_at_most() -> None:
    assert len(read(README).splitlines()) <= 100


def test_readme_command_and_package_say_what_lens_is_in_one_sentence() -> None:
    sentence = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", read(README).split("\n\n")[1].replace("\n", " "))
    package = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["description"]
    assert [package, create_application().info.help] == [sentence, sentence]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\((?!https?://)([^)]+)\)", read(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_site_leads_to_every_page_and_loads_nothing_from_another_host() -> None:
    found = read(ROOT / "mkdocs.yml")
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").glob("*.md")}
    assert set(re.findall(r"[\w-]+\.md", found.partition("nav:")[2])) == pages
    theme = yaml.safe_load(re.sub(r"!!python\S+ \{.*\}", "", found))["theme"]
    assert (theme["name"], theme["font"]) == ("material", False)


def test_extras_that_pages_install_exist() -> None:
    named = {
        extra for page in PAGES for found in re.findall(r"'\.\[([\w,]+)\]'", read(page)) for extra in found.split(",")
    }
    assert named <= set(tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["optional-dependencies"])
    assert {"model", "service", "embedded"} <= named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_code_blocks_exist(page: Path) -> None:
    lines = [line.strip() for block in code_blocks(page, "bash") for line in block.splitlines()]
    ours = {match[1] for line in lines if (match := re.match(r"lens ([\w-]+)", line))}
    targets = {match[1] for line in lines if (match := re.match(r"make (\w+)", line))}
    application = create_application()
    assert ours <= {entry.name for entry in (*application.registered_commands, *application.registered_groups)}
    assert not targets or targets <= set(re.findall(r"^([\w-]+):", read(ROOT / "Makefile"), re.MULTILINE))


def test_readme_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (source,) = (block for block in code_blocks(README, "python") if "from lens_engine" in block)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    with_a_double = source.replace('open_model("smollm2-135m-instruct")', "SimpleNamespace(scorer=TableScorer())")
    assert with_a_double != source
    names = {"SimpleNamespace": SimpleNamespace, "TableScorer": TableScorer}
    exec(compile(with_a_double, "README.md", "exec"), names)
    labels = literal_eval(capsys.readouterr().out.splitlines()[-1])
    assert len(labels) == 2
    assert set(labels) <= {"billing", "delivery", "account", "technical"}
    assert (tmp_path / "classifier.json").is_file()


def test_every_package_has_a_line_in_the_architecture() -> None:
    lines = text_block(ROOT / "docs/architecture.md", "lens_engine/ ")
    assert sorted(line.split()[0] for line in lines) == sorted(packages())


def test_floors_of_the_architecture_are_those_of_the_engine() -> None:
    lines = text_block(ROOT / "docs/architecture.md", "run  evaluation")
    assert [set(line.split()) for line in lines] == [set(floor) for floor in reversed(FLOORS)]


def test_paths_that_docs_name_exist() -> None:
    for page in PAGES:
        for path in re.findall(
            r"`((?:app|lens_cli|worker|lens_engine|migrations|lab|docs|tests|examples)/[\w./-]*)`", read(page)
        ):
            assert (ROOT / path).exists(), f"{page.name} names {path}"


@pytest.mark.parametrize("path", reference.PAGES, ids=str)
def test_tables_of_pages_are_those_that_the_code_writes(path: Path) -> None:
    page = read(ROOT / path)
    assert page.count("<!-- begin ") > 0
    assert page == reference.fill(page), "run `make docs-tables`"


def test_errors_of_the_engine_that_can_fail_a_selection_are_explained() -> None:
    tree = ast.parse(read(ROOT / "lens_engine/errors.py"))
    assignments = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    codes = {ast.literal_eval(node.value) for node in assignments if ast.unparse(node.targets[0]) == "code"}
    hidden = {
        *("lens-error", "invalid-input"),
        "checkpoint-error",
        "checkpoint-damaged",
        "checkpoint-foreign",
        "budget-spent",  # ends a run with its best
        "nothing-selected",  # ends a run with its bag of words
        *("invalid-template", "invalid-instruction"),  # a submission is refused with them
    }
    text = read(ROOT / "docs/api.md")
    assert {code for code in codes - hidden if f"`{code}`" not in text} == set()


def test_spec_of_the_sample_is_that_of_the_demonstration() -> None:
    assert json.loads(read(ROOT / "examples/shop_reviews/spec.json")) == SAMPLE_SPEC


def test_every_option_and_setting_says_what_it_means() -> None:
    assert [row for row in (*reference.option_rows(), *reference.setting_rows()) if row.endswith("|  |")] == []
