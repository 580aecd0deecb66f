"""Writes the pages that can be derived from the code, and builds docs/site from all pages.

Derived: docs/reference/cli.md (the commands' own help), docs/reference/api.md (`playhead.__all__`) and the table of
docs/guide/sources.md (the source table). Nothing between their marks is edited by hand; tests/test_docs.py fails where
a written file differs.

    python tools/docs.py            write the derived pages, then build docs/site
    python tools/docs.py --check    say which pages are stale and which links lead nowhere; exit 1 if any
"""

from __future__ import annotations

import html
import importlib
import inspect
import os
import posixpath
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "site"
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
# The order of the navigation: a heading, and the pages below it. What a pattern finds comes in the order of its names.
SECTIONS = (
    ("playhead", ("README.md", "CHANGELOG.md")),
    (
        "Guide",
        (
            "docs/guide/first-recording.md",
            "docs/guide/writing-a-handler.md",
            "docs/guide/discipline.md",
            "docs/guide/ci.md",
            "docs/guide/tapes.md",
            "docs/guide/production.md",
            "docs/guide/attach-python.md",
            "docs/guide/attach-node.md",
            "docs/guide/policy.md",
            "docs/guide/sinks.md",
            "docs/guide/serve.md",
            "docs/guide/sources.md",
            "docs/guide/handlers-as-commands.md",
            "docs/guide/*.md",
        ),
    ),
    ("Reference", ("docs/reference/*.md",)),
    (
        "Protocol",
        (
            "protocol/README.md",
            "protocol/conformance.md",
            "protocol/spec.md",
            "protocol/CHANGELOG.md",
            "protocol/vectors/README.md",
        ),
    ),
    ("Clients", ("clients/README.md", "clients/*/README.md")),
    ("Inside", ("docs/ARCHITECTURE.md", "docs/adr/README.md", "docs/adr/*.md", "docs/**/*.md")),
)
HEAD = "<!-- Written by tools/docs.py: edit the code, not this page. -->\n"
BEGIN, END = "<!-- derived: begin -->\n", "<!-- derived: end -->\n"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    files = derived()
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if not arguments:
        for path in stale:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
        print(f"{build_site(SITE)} pages in {SITE.relative_to(ROOT)}")
        stale = []
    wrong = [f"stale: {path.relative_to(ROOT)}" for path in stale] + list(broken_links())
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


# ------------------------------------------------------------------------------------------------ derived pages


def derived() -> dict[Path, str]:
    """Every derived file and its text."""
    sources = ROOT / "docs" / "guide" / "sources.md"
    return {
        ROOT / "docs" / "reference" / "cli.md": HEAD + cli_page(),
        ROOT / "docs" / "reference" / "api.md": HEAD + api_page(),
        sources: between_marks(sources.read_text(encoding="utf-8"), sources_table()),
    }


def between_marks(text: str, inner: str) -> str:
    """`text` with what stands between the two marks replaced."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"tools/docs.py: the marks {BEGIN.strip()} and {END.strip()} are not there")
    return before + begin + inner + end + after


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command by its full name, with a context that lays its help out in 80 columns."""
    group = importlib.import_module("playhead.cli.main").playhead
    settings: dict[str, Any] = {"terminal_width": 80, "max_content_width": 80, "help_option_names": ["-h", "--help"]}
    top = click.Context(group, info_name="playhead", **settings)
    yield "playhead", group, top
    for name in group.list_commands(top):
        command = group.get_command(top, name)
        yield f"playhead {name}", command, click.Context(command, parent=top, info_name=name, **settings)


def cli_page() -> str:
    """The help of every command, in full."""
    parts = ["# The command line\n", "Exit codes of every command: 0 the same, 1 diverged, 2 could not tell.\n"]
    for name, command, context in commands():
        parts.append(f"## {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def api_page() -> str:
    """Every public name of the package, with its signature and docstring."""
    package = importlib.import_module("playhead")
    parts = ["# The Python API\n", "Everything that `from playhead import ...` offers, and nothing else.\n"]
    for name in sorted(package.__all__, key=str.lower):
        parts.append("\n".join(_described(name, getattr(package, name))))
    return "\n".join(parts)


def _described(name: str, value: Any) -> Iterator[str]:
    yield f"## `{name}`\n"
    if isinstance(value, str):
        # A version changes with every release; that it is a text does not.
        yield f"```text\n{name}: str\n```\n"
        return
    is_class = inspect.isclass(value)
    signature = inspect.signature(value)
    if is_class:
        signature = signature.replace(return_annotation=inspect.Signature.empty)
    kind = "class " if is_class else ""
    yield f"```text\n{kind}{name}{_laid_out(signature)}\n```\n"
    bases = [base for base in value.__mro__[1:] if base.__name__ in package_names()] if is_class else []
    if bases:
        yield f"A kind of `{bases[0].__name__}`.\n"
    yield _escaped(inspect.getdoc(value) or "") + "\n"
    if is_class:
        for member, found in vars(value).items():
            if isinstance(found, property) and found.__doc__ and not member.startswith("_"):
                yield f"- `{member}`: {_escaped(inspect.cleandoc(found.__doc__))}\n"


def package_names() -> frozenset[str]:
    return frozenset(importlib.import_module("playhead").__all__)


def _laid_out(signature: inspect.Signature) -> str:
    """A signature on one line if it fits, else a parameter a line."""
    text = _plain(str(signature))
    if len(text) <= 100:
        return text
    inside = signature.replace(return_annotation=inspect.Signature.empty)
    lines = []
    starred = False
    for parameter in inside.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            lines.append("*")
            starred = True
        lines.append(_plain(str(parameter)))
    end = text[text.rindex(") -> ") :] if ") -> " in text else ")"
    return "(\n" + "".join(f"    {line},\n" for line in lines) + end


def _plain(text: str) -> str:
    """Annotations without the quotes that a module with deferred annotations gives them."""
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text).replace("<factory>", "...")


def _escaped(text: str) -> str:
    return text.replace("<", "\\<")


def sources_table() -> str:
    """The log shapes that are recognised, as a table and a list of what surprises."""
    table = importlib.import_module("playhead.tape.source_table").SOURCES
    lines = ["\n| `--source` | what writes it | time | payload | order in the file |\n"]
    lines.append("| --- | --- | --- | --- | --- |\n")
    for row in table.values():
        payload = "none" if not row.payload else " or ".join(_code(way) if way else "the record" for way in row.payload)
        time = _code(row.time) if row.time else "none"
        lines.append(f"| `{row.name}` | {_cell(row.title)} | {time} | {payload} | {row.file_order} |\n")
    lines.append("\n")
    for row in table.values():
        facts = []
        if row.id:
            facts.append(f"Id: {' with '.join(_code(way) for way in row.id)}.")
        if row.dedupe:
            facts.append(f"Delivered again: {' with '.join(_code(way) for way in row.dedupe)}.")
        if row.records_at:
            facts.append(f"Records of a container stand at {_code(row.records_at)}.")
        if row.notes:
            facts.append(row.notes)
        lines.append(f"- `{row.name}`: {' '.join(facts)}\n")
    return "".join(lines) + "\n"


def _code(way: str) -> str:
    return f"`{_cell(way)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# ------------------------------------------------------------------------------------------------ pages and links


def pages() -> list[Path]:
    """Every page, once, in the order of the navigation."""
    return [page for _, below in navigation() for page in below]


def navigation() -> list[tuple[str, list[Path]]]:
    seen: set[Path] = set()
    sections = []
    for title, patterns in SECTIONS:
        found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern)) if SITE not in path.parents]
        below = [path for path in dict.fromkeys(found) if path not in seen]
        seen.update(below)
        sections.append((title, below))
    return sections


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page: `path` is what it leads to below the project's root, None where that is another host."""

    page: Path
    target: str
    path: Path | None
    fragment: str


def links_of(page: Path) -> Iterator[Link]:
    for token in _inner(MARKDOWN.parse(page.read_text(encoding="utf-8"))):
        target = token.attrGet({"link_open": "href", "image": "src"}.get(token.type, ""))
        if target is None:
            continue
        way, _, fragment = str(target).partition("#")
        elsewhere = "://" in way or way.startswith("mailto:")
        path = None if elsewhere else Path(os.path.normpath(page.parent / unquote(way))) if way else page
        yield Link(page, str(target), path, fragment)


def broken_links() -> Iterator[str]:
    """Every local link that leads to no file, or to no heading."""
    anchors = {page: set(anchors_of(MARKDOWN.parse(page.read_text(encoding="utf-8")))) for page in pages()}
    for page in pages():
        for link in links_of(page):
            if link.path is None:
                continue
            if not link.path.exists():
                yield f"{page.relative_to(ROOT)}: {link.target} leads to nothing"
            elif link.fragment and link.fragment not in anchors.get(link.path, set()):
                yield f"{page.relative_to(ROOT)}: {link.target} leads to no heading"


def anchors_of(tokens: list[Token]) -> list[str]:
    """The names of the headings, as GitHub gives them; also set as ids."""
    names: list[str] = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            text = "".join(part.content for part in inline.children or () if part.type in ("text", "code_inline"))
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            repeat = sum(known == name or re.fullmatch(re.escape(name) + r"-\d+", known) is not None for known in names)
            names.append(f"{name}-{repeat}" if repeat else name)
            token.attrSet("id", names[-1])
    return names


def _inner(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _inner(token.children or [])


# ------------------------------------------------------------------------------------------------ the site


def build_site(folder: Path) -> int:
    """Every page as HTML, at its own place, and the files that pages link to. Gives the number of pages."""
    shutil.rmtree(folder, ignore_errors=True)
    sections = navigation()
    known = set(pages())
    for page in known:
        out = folder / _address(page)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(_page_html(page, sections, known, folder), encoding="utf-8")
    return len(known)


def _address(page: Path) -> str:
    relative = page.relative_to(ROOT).with_suffix(".html").as_posix()
    return "index.html" if relative == "README.html" else relative


def _page_html(page: Path, sections: list[tuple[str, list[Path]]], known: set[Path], folder: Path) -> str:
    tokens = MARKDOWN.parse(page.read_text(encoding="utf-8"))
    anchors_of(tokens)
    here = posixpath.dirname(_address(page))
    for token in _inner(tokens):
        if token.type == "link_open":
            token.attrSet("href", _site_link(page, str(token.attrGet("href")), here, known, folder))
        elif token.type == "image":
            token.attrSet("src", _site_link(page, str(token.attrGet("src")), here, known, folder))
    body = MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})
    nav = []
    for title, below in sections:
        items = "".join(
            f'<li><a href="{posixpath.relpath(_address(other), here or ".")}"'
            f"{' aria-current=page' if other == page else ''}>{html.escape(title_of(other))}</a></li>"
            for other in below
        )
        nav.append(f"<h2>{html.escape(title)}</h2><ul>{items}</ul>" if items else "")
    return _FRAME.format(title=html.escape(title_of(page)), nav="".join(nav), body=body)


def _site_link(page: Path, target: str, here: str, known: set[Path], folder: Path) -> str:
    way, mark, fragment = target.partition("#")
    if not way or "://" in way or way.startswith("mailto:"):
        return target
    path = Path(os.path.normpath(page.parent / unquote(way)))
    if path.is_dir() and path / "README.md" in known:
        path /= "README.md"
    if path in known:
        return posixpath.relpath(_address(path), here or ".") + mark + fragment
    relative = path.relative_to(ROOT)
    if path.is_file():
        (folder / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / relative)
    return posixpath.relpath(relative.as_posix(), here or ".") + mark + fragment


def title_of(page: Path) -> str:
    """The text of a page's first heading."""
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].replace("`", "") if found else page.stem


_FRAME = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ margin: 0; font: 16px/1.5 system-ui, sans-serif; display: flex; color: #222; background: #fff; }}
nav {{ flex: 0 0 15rem; padding: 1rem; font-size: 0.9rem; border-right: 1px solid #ddd; }}
nav h2 {{ font-size: 0.9rem; margin: 1rem 0 0.2rem; }} nav ul {{ list-style: none; margin: 0; padding: 0; }}
nav [aria-current] {{ font-weight: bold; }}
main {{ flex: 1; min-width: 0; max-width: 52rem; padding: 1rem 2rem; }}
pre {{ background: #f5f5f5; padding: 0.7rem; overflow-x: auto; }} code {{ font-size: 0.9em; }}
table {{ border-collapse: collapse; }} th, td {{ border: 1px solid #ddd; padding: 0.2rem 0.5rem; text-align: left; }}
@media (max-width: 50rem) {{ body {{ display: block; }} nav {{ border: 0; }} }}
</style>
<nav>{nav}</nav>
<main>
{body}</main>
</html>
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
