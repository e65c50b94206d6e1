"""The pages as documents: mathematics that GitHub renders, parts in order, links, code."""

import re

import pytest

from .conftest import PAGES, WRITTEN
from .markdown import DISPLAY, EQUATION, LINK, SNIPPET, inline, prose, tables

CHAPTERS = [name for name in PAGES if name != "README.md"]
SNIPPETS = sorted({code for page in PAGES.values() for code in SNIPPET.findall(page)})
EQUALITIES_IN_WORDS: set[str] = set()
"""Inline formulas with an equals sign, each to be checked below; the pages need none."""


def mathematics(page):
    return [
        *DISPLAY.findall(page),
        *inline(page),
        *(c for t in tables(page) for r in t.rows for c in r),
    ]


@pytest.mark.parametrize("name", PAGES)
def test_an_equality_is_a_definition_or_has_a_truth(name):
    named = len(EQUATION.findall(PAGES[name]))
    stated = [text for text in DISPLAY.findall(PAGES[name]) if " = " in text]
    assert len(stated) == named
    for text in inline(PAGES[name]):
        assert "=" not in text.replace(":=", "") or text in EQUALITIES_IN_WORDS, text


@pytest.mark.parametrize("name", PAGES)
def test_github_renders_the_mathematics(name):
    """No escape that markdown eats, no line break, no disabled command; dollars open and close."""
    page = PAGES[name]
    outside_code = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    outside_code = re.sub(r"`[^`\n]*`", "", outside_code)
    assert not re.search(r"\\[^A-Za-z]", outside_code)
    assert "\\operatorname" not in page
    for text in mathematics(page):
        assert not re.search(r"[<>|*&#~`\n]", text) or text.startswith("`"), text
        assert text.count("{") == text.count("}")
        assert len(re.findall(r"\\left\b", text)) == len(re.findall(r"\\right\b", text))
    for paragraph in re.split(r"\n\s*\n", outside_code):
        for line in paragraph.splitlines():
            assert line.startswith("$$") == line.endswith("$$") or "$$" not in line
            assert line.replace("$$", "").count("$") % 2 == 0, line
            for match in re.finditer(r"(^|.)\$(?!\$)([^$]+)\$(.|$)", line.replace("$$", "")):
                before, text, after = match.groups()
                assert before in ("", " ", "("), match[0]
                assert after in ("", " ", *",.;:)/?"), match[0]
                assert text == text.strip(), match[0]


# The page of all stages sums up what the others derive
@pytest.mark.parametrize("name", [name for name in CHAPTERS if name != "stages.md"])
def test_a_page_has_its_parts_in_order(name):
    headings = re.findall(r"^## (.+)$", PAGES[name], re.MULTILINE)
    assert headings[0] == "Setting"
    assert headings[-1] == "Beside a simulation"
    assert ":=" in PAGES[name].split("\n## ")[1]
    for part in ("Under each rule", "Limits", "Where it stops holding"):
        assert sum(heading.startswith(part) for heading in headings) == 1, part
    assert "pair" in prose(PAGES[name])
    assert len(SNIPPET.findall(PAGES[name])) == 1


@pytest.mark.parametrize("name", PAGES)
def test_links_resolve(name):
    for _, target in LINK.findall(prose(PAGES[name])):
        assert target in WRITTEN


def test_the_index_lists_every_page():
    listed = LINK.findall(PAGES["README.md"])
    pages = [name for name in WRITTEN if name != "README.md"]
    titles = [(WRITTEN[name].splitlines()[0].removeprefix("# "), name) for name in pages]
    assert sorted(titles) == sorted(listed)


@pytest.mark.parametrize("code", SNIPPETS, ids=range(len(SNIPPETS)))
def test_snippets_run(code):
    exec(compile(code, "snippet", "exec"), {})
