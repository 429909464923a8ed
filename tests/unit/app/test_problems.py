"""Problem details."""

import pytest

import app.errors
import lens_engine.reading.errors
from app.errors import AppError
from app.main import create_app
from app.problems import TITLES, problem
from app.settings import Settings
from app.web.documentation import PUBLIC_PATHS
from lens_engine.errors import LensError


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*(subclasses(child) for child in kind.__subclasses__()))


@pytest.mark.parametrize("kind", [AppError, LensError])
def test_every_code_has_a_title(kind: type) -> None:
    modules = {app.errors.__name__, "lens_engine.errors", lens_engine.reading.errors.__name__}
    codes = {error.code for error in subclasses(kind) if error.__module__ in modules}  # type: ignore[attr-defined]
    assert codes - TITLES.keys() == set()


def test_type_of_a_problem_leads_to_a_page_that_explains_its_code() -> None:
    page, _, code = problem("class-too-small", "too few")["type"].partition("#")
    assert page in PUBLIC_PATHS
    schema = create_app(Settings(_env_file=None)).openapi()["components"]["schemas"]["Problem"]
    assert f"`{code}`: {TITLES[code]}" in schema["properties"]["code"]["description"]
