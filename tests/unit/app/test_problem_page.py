from typing import Any

from app.web.error_handlers import write_problem

HTML = "<img src=x onerror=alert(1)>\"'&"
ESCAPED = "&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;&amp;"


def make_problem(code: str, **values: Any) -> dict[str, Any]:
    return {"code": code, "title": "A title", "detail": "A detail", "errors": [], "request_id": "r1", **values}


def write(code: str, *, has_key: bool = False, **values: Any) -> str:
    return write_problem(make_problem(code, **values), has_key=has_key)


def test_text_of_a_client_is_escaped_everywhere() -> None:
    errors = [{"detail": HTML, "pointer": HTML}]
    found = write("invalid-dataset", title=HTML, detail=f"{HTML}.", errors=errors)
    assert "<img" not in found
    assert found.count(ESCAPED) == 3


def test_single_fault_is_said_once() -> None:
    assert write("invalid-dataset", errors=[{"detail": "A detail"}]).count("A detail") == 1
    several = write("invalid-dataset", errors=[{"detail": "One"}, {"detail": "Two"}])
    assert "<li>One</li><li>Two</li>" in several


def test_first_of_several_faults_is_said_once() -> None:
    errors = [{"detail": "Row 3 has no label"}, {"detail": "Row 7 has no label"}]
    found = write("invalid-dataset", detail="2 rows cannot be used; the first: Row 3 has no label", errors=errors)
    assert found.count("Row 3 has no label") == 1
    assert "<ul><li>Row 7 has no label</li></ul>" in found


def test_names_between_backticks_are_code() -> None:
    found = write("invalid-dataset", detail="`text` and `<b>` are missing")
    assert "<p><code>text</code> and <code>&lt;b&gt;</code> are missing</p>" in found


def test_refused_page_has_heading_title_and_a_way_on() -> None:
    body = make_problem("not-found", title="A <title>")
    page = write_problem(body, has_key=False, is_page=True, root="/lens")
    assert page.startswith("<title>A &lt;title&gt; · Lens</title><h1>A &lt;title&gt;</h1>")
    assert '<a href="/lens/pages/selections">Start</a>' in page
    assert "<h1>" not in write_problem(body, has_key=False)
    assert "<h1>API key</h1>" in write_problem(make_problem("unauthorized"), has_key=False, is_page=True)


def test_key_is_asked_for_and_an_unknown_one_is_said() -> None:
    missing, unknown = write("unauthorized"), write("unauthorized", has_key=True)
    assert "This service asks for an API key." in missing
    assert "The service knows no such key." in unknown
    assert 'id="key-form"' in missing
    assert 'id="key-form"' in unknown


def test_failure_of_the_server_has_the_request_id() -> None:
    assert "<code>r1</code>" in write("internal-error")
    assert "r1" not in write("not-found")
