import re
from pathlib import Path

import pytest

import app.errors
import lens_engine.files.limits
from app.errors import TITLES, AppError, problem
from app.main import create_app
from app.settings import Settings
from app.web.openapi import PUBLIC_PATHS
from lens_engine.errors import LensError


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*(subclasses(child) for child in kind.__subclasses__()))


@pytest.mark.parametrize("kind", [AppError, LensError])
def test_every_code_has_a_title(kind: type) -> None:
    modules = {app.errors.__name__, "lens_engine.errors", lens_engine.files.limits.__name__}
    codes = {error.code for error in subclasses(kind) if error.__module__ in modules}  # type: ignore[attr-defined]
    sources = Path(app.errors.__file__).parent.rglob("*.py")
    codes.update(code for one in sources for code in re.findall(r'\bcode="([^"]*)"', one.read_text("utf-8")))
    assert codes - TITLES.keys() == set()


def test_type_of_a_problem_leads_to_a_page_that_explains_its_code() -> None:
    page, _, code = problem("class-too-small", "too few")["type"].partition("#")
    assert page in PUBLIC_PATHS
    schema = create_app(Settings(_env_file=None)).openapi()["components"]["schemas"]["Problem"]
    assert f"`{code}`: {TITLES[code]}" in schema["properties"]["code"]["description"]
