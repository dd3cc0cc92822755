"""How the pages of docs/ become a site: `make docs`. Read by sphinx-build.

The pages are Markdown that a code host shows as it is, without a directive of any generator. What Sphinx needs besides,
the tree of pages, is made here from the lists of links in ``docs/index.md``.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parents[2] / "docs"
PACKAGE = DOCS.parent / "src" / "clusterwright" / "__init__.py"
ENTRY = re.compile(r"^- \[[^\]]+\]\(([^)]+)\.md\)", re.MULTILINE)

project = "clusterwright"
found = re.search(r'__version__ = "([^"]+)"', PACKAGE.read_text(encoding="utf-8"))
assert found is not None, PACKAGE  # noqa: S101
version = release = found.group(1)
extensions = ["myst_parser"]
root_doc = "index"
myst_heading_anchors = 4
nitpicky = True
# Texts of devices that no lexer knows are shown as they are; a block that says what it is must be that.
highlight_language = "none"
html_theme = "furo"
html_title = f"clusterwright {version}"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_last_updated_fmt = None  # the same pages, the same bytes
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
pygments_style = "friendly"
pygments_dark_style = "monokai"


def _tree(caption: str, pages: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def _sections(text: str) -> list[tuple[str, list[str]]]:
    """Each section of the index, with the pages that it lists."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return [(title, ENTRY.findall(body)) for title, body in zip(parts[1::2], parts[2::2], strict=True)]


def _with_tree(_app: Sphinx, page: str, source: list[str]) -> None:
    if page == root_doc:
        source[0] += "".join(_tree(title, pages) for title, pages in _sections(source[0]))
    elif page.startswith("rules/CW"):
        # Their index lists them. In the tree, every page would repeat all of them beside its text.
        source[0] = f"---\norphan: true\n---\n\n{source[0]}"


def llms_text(index: str) -> str:
    """``llms.txt`` (https://llmstxt.org): what the project is, and each page of ``index`` with what it is about."""
    title, _, rest = index.partition("\n\n")
    summary = rest.partition("\n\n")[0].replace("\n", " ")
    lines = [title, "", f"> {summary}"]
    parts = re.split(r"^## (.+)$", index, flags=re.MULTILINE)
    for section, body in zip(parts[1::2], parts[2::2], strict=True):
        items = re.findall(r"^- .*(?:\n(?:  .*))*", body, flags=re.MULTILINE)
        lines += ["", f"## {section}", "", *(re.sub(r"\s*\n\s*", " ", item) for item in items)]
    return "\n".join(lines) + "\n"


def _with_sources(app: Sphinx, error: Exception | None) -> None:
    """Puts llms.txt into the site, and the pages' own text, which it names."""
    if error is not None or app.builder.name != "html":
        return
    folder, site = Path(app.srcdir), Path(app.outdir)
    for name in app.env.found_docs:
        page = Path(app.env.doc2path(name))
        place = site / page.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, place)
    text = llms_text((folder / "index.md").read_text(encoding="utf-8"))
    (site / "llms.txt").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Sphinx calls this, then ``_with_tree`` for every page that it reads, and ``_with_sources`` at its end."""
    app.connect("source-read", _with_tree)
    app.connect("build-finished", _with_sources)
