"""The guides name only what there is: links, files of this repository, subcommands and their options."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import click
import pytest
from pygments.lexers import get_lexer_by_name
from tests.golden_files import REFRESH
from tests.pages.command_reference import command_page, commands, manual_page, status_table

import clusterwright
from clusterwright.cli.main import cli
from clusterwright.data_files import pages

REPOSITORY = Path(__file__).parent.parent
GUIDES = [
    REPOSITORY / "README.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted((REPOSITORY / "docs/dev").glob("*.md")),
]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
FOLDERS = "benchmarks|docs|inventory|roles|src/clusterwright|stacks|templates|tests|tools"
# A file of ours, unless a shell writes it there, or it stands below another folder.
FILE = re.compile(rf"(?<![\w/.<-])(?<!> )((?:{FOLDERS})/[\w./*-]*[\w*/])")
COMMAND = re.compile(r"(?:^\$ |`)(?:[^`\n]*&& )?clusterwright ([^`#|>\n]*)", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def text_of(guide: Path) -> str:
    """The guide's text, with commands on one line that go on in the next."""
    return re.sub(r"\\\n *", " ", guide.read_text(encoding="utf-8"))


def what_is_wrong_with(words: list[str]) -> str | None:
    """Why there is no such subcommand, or no such option of it."""
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            return f"no command {words[0]}"
        command, words = found, words[1:]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    wrong = [word for word in OPTION.findall(" ".join(words)) if word not in known | {"--help", "--version"}]
    return f"{command.name} has no {', '.join(wrong)}" if wrong else None


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_links_and_files_are_there(guide: Path) -> None:
    named = [(guide.parent, name) for name in LINK.findall(text_of(guide))]
    named += [(REPOSITORY, name) for name in FILE.findall(text_of(guide))]
    assert not [name for folder, name in named if not any(folder.glob(name)) and not (folder / name).exists()]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_commands_have_the_options_that_are_named(guide: Path) -> None:
    problems = [what_is_wrong_with(words.split()) for words in COMMAND.findall(text_of(guide))]
    assert not [problem for problem in problems if problem is not None]


SAID = [
    *sorted((REPOSITORY / "src").rglob("*.py")),
    *sorted((REPOSITORY / "inventory/schema").glob("*.json")),
    *sorted(file for room in ("templates", "roles") for file in (REPOSITORY / room).rglob("*.[jyp]*[2lsy]")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *(REPOSITORY / name for name in ("README.md", "action.yml", ".pre-commit-hooks.yaml", "pyproject.toml")),
]
HOST = re.compile(r"\bhttps?://(?:[\w-]+@)?([A-Za-z0-9.-]*[A-Za-z0-9])(?![\w.-]*\{)")  # no name that is made
# Who may stand in what we say: hosts of standards, of distributions' packages, of programs that we speak of, and names
# that RFC 2606 reserves. One of ours that we do not hold could be somebody else's tomorrow, and we sent people there.
OWNED = re.compile(
    r"(www\.w3\.org|json-schema\.org|docs\.oasis-open\.org|semver\.org|no-color\.org"
    r"|(deb|security)\.debian\.org|archive\.ubuntu\.com"
    r"|docs\.nvidia\.com|pre-commit\.com|www\.batfish\.org|www\.pulumi\.com"
    # Manuals and sources behind docs/effects.md.
    r"|www\.arista\.com|github\.com|www\.freedesktop\.org|docs\.kernel\.org|man7\.org"
    r"|slurm\.schedmd\.com|ipxe\.org|wiki\.nftables\.org"
    r"|(.+\.)?example\.(com|net|org)|(.+\.)?example|HOST|localhost|[\d.]+)"
)
# Folders of a checkout, which who installed the package has not; of the tools a message says that a checkout has them.
OURS = re.compile(r"\bdocs/[\w-]+\.md|\b(?:inventory|templates|tests)/(?:hardware|schema|systems|nccl|[\w-]+\.\w)")
EXPLAINED = re.compile(r"clusterwright explain ([\w-]+)(?=[`\s])")


def test_no_host_is_named_that_is_not_its_owners() -> None:
    named = {(host, file.name) for file in SAID for host in HOST.findall(file.read_text("utf-8", "replace"))}
    assert not [each for each in sorted(named) if not OWNED.fullmatch(each[0])]


@pytest.mark.parametrize("spec", ["lab-roce", "lab-ib", "lab-tenants"])
def test_no_rendered_file_names_a_host_but_the_specs(spec: str) -> None:
    text = (REPOSITORY / f"inventory/{spec}.yaml").read_text(encoding="utf-8")
    rendered = clusterwright.render(clusterwright.plan(clusterwright.load(REPOSITORY / f"inventory/{spec}.yaml")))
    named = {
        (host, artifact.path)
        for artifact in rendered
        for host in HOST.findall(artifact.content.decode("utf-8", "replace"))
        if host not in text and not OWNED.fullmatch(host)
    }
    assert not sorted(named)


def test_what_is_to_be_explained_has_a_page() -> None:
    """Pages travel with the package, and are named by the command that prints them."""
    wrong = [
        (file.name, page)
        for file in SAID
        for page in EXPLAINED.findall(file.read_text("utf-8", "replace"))
        if page not in pages() and page not in {"CODE", "PAGE"}
    ]
    assert not wrong


def test_messages_name_no_file_that_an_installed_package_has_not() -> None:
    """But for the head of allocation files, which stays: it would change every one that people have. What begins with
    the folder's name is a path that the code opens."""
    wrong = []
    for file in sorted((REPOSITORY / "src").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        unsaid = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        wrong += [
            f"{file.name}:{node.lineno}: {node.value}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in unsaid
            if OURS.search(node.value) and not node.value.startswith(("# What stands in", "inventory/"))
        ]
    for file in sorted((REPOSITORY / "inventory/schema").glob("*.json")):
        wrong += [f"{file.name}: {name}" for name in OURS.findall(file.read_text())]
    assert not wrong, "name the command that prints it: `clusterwright explain PAGE`"


def test_help_names_no_page_that_an_installed_package_has_not() -> None:
    assert "docs/" not in (REPOSITORY / "docs/cli.md").read_text()


def test_what_is_not_there_is_found() -> None:
    assert what_is_wrong_with(["rendr", "x.yaml"]) == "no command rendr"
    assert what_is_wrong_with(["render", "x.yaml", "--outt", "x"]) == "render has no --outt"
    assert what_is_wrong_with(["keys", "plan", "x.yaml", "--on", "2026-12-31"]) is None
    assert FILE.findall("see tools/lint, docs/nothing.md. Not /etc/tools/x, nor: > inventory/out.csv") == [
        "tools/lint",
        "docs/nothing.md",
    ]
    assert COMMAND.findall("$ cd x && clusterwright up a.yaml --pod p > y") == ["up a.yaml --pod p "]


ENTRY = re.compile(r"^- \[[^\]]+\]\(([^)]+\.md)\)", re.MULTILINE)
FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REASON = re.compile(r"<!-- not run: .{20,} -->\n\Z")


def test_every_page_is_in_one_section_of_the_index() -> None:
    """docs/index.md is the one list of pages: the site's sections are made of it."""
    listed = ENTRY.findall((REPOSITORY / "docs/index.md").read_text(encoding="utf-8"))
    docs = REPOSITORY / "docs"
    pages = [page.name for page in docs.glob("*.md") if page.name != "index.md"]
    pages += [f"dev/{page.name}" for page in docs.glob("dev/*.md")]
    assert sorted(listed) == sorted([*pages, "rules/README.md"]), "add each new page of docs/ to docs/index.md"


def unmarked(text: str) -> list[str]:
    """Commands that stand where tests/pages/test_commands.py does not look: in a block that is no ``console``."""
    return [
        line
        for kind, body in FENCE.findall(text)
        if kind in ("", "sh", "bash", "text", "shell")
        for line in body.splitlines()
        if re.match(r"(\$ )|(clusterwright|make|pulumi|tools/\S+) \S", line) and not line.endswith("[OPTIONS]")
    ] + re.findall(r"^    (?:\$ )?clusterwright .*", re.sub(FENCE, "", text), re.MULTILINE)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_every_command_is_run_or_says_why_not(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")
    if guide.stem != "cli":  # made from the parser, and its usage lines are no commands
        assert not unmarked(text), "write them as ```console with $ before each, so that they are run"
    for block in re.finditer(r"^```console\n(.*?)```", text, re.MULTILINE | re.DOTALL):
        above = text[: block.start()]
        if "<!-- not run" in above.rpartition("\n\n")[2]:
            assert REASON.search(above), block.group()
        else:
            assert block.group(1).startswith("$ "), block.group()


def test_commands_elsewhere_are_found() -> None:
    assert unmarked("x\n\n    clusterwright lint\n\n```\n$ ls\nclusterwright lint x\nls\n```\n") == [
        "$ ls",
        "clusterwright lint x",
        "    clusterwright lint",
    ]


def test_the_reference_of_commands_is_what_the_parser_makes() -> None:
    introduction = (
        "Look up a command, its options and its [exit status](#exit-statuses). `--help` after a command prints\n"
        "the same."
    )
    statuses = (
        "\n## Exit statuses\n\n"
        "As a rule, 0 means success without findings, and 1 means findings. 2 means that the command could not run:\n"
        "wrong arguments, an unreadable file, or a spec with errors where a plan is needed. 130 means that it was\n"
        "interrupted.\n\n"
    )
    made = {
        "cli.md": f"{command_page(cli, introduction)}{statuses}{status_table(cli)}\n",
        "clusterwright.1": manual_page(cli, clusterwright.__version__),
    }
    for name, text in made.items():
        page = REPOSITORY / "docs" / name
        if REFRESH:
            page.write_text(text, encoding="utf-8")
        assert page.read_text(encoding="utf-8") == text, (
            f"{name} is stale: CLUSTERWRIGHT_GOLDEN=write pytest {__file__}"
        )


def test_no_help_shows_marks_of_click() -> None:
    for name, command in commands(cli):
        shown = command.get_help(click.Context(command, info_name=name))
        assert "\\b" not in shown, name


def test_the_manual_page_is_one_that_man_shows() -> None:
    page = REPOSITORY / "docs/clusterwright.1"
    judged = subprocess.run(
        ["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True, check=False, timeout=60
    )
    # Without a date: the same sources make the same bytes.
    assert not [line for line in judged.stdout.splitlines() if "missing date" not in line]
    shown = subprocess.run(["mandoc", "-Tascii", page], capture_output=True, text=True, check=True, timeout=60).stdout
    text = re.sub(".\b", "", shown)  # a letter over itself is bold
    assert all(re.search(rf"^   {name} ", text, re.MULTILINE) for name, _ in commands(cli))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_block_is_in_a_language_that_the_site_can_show(guide: Path) -> None:
    kinds = {kind for kind, _ in FENCE.findall(guide.read_text(encoding="utf-8")) if kind}
    assert all(get_lexer_by_name(kind) for kind in kinds)
