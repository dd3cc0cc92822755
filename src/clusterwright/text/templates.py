"""The Jinja environment. Templates hold layout; a typed view prepares every value in them."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from clusterwright import data_files
from clusterwright.text.quoting import FILTERS


@cache
def environment() -> Environment:
    """The environment over ``templates/`` and those of plugins. Undefined names are errors, block tags leave no line.

    Filters are the functions of ``quoting``, one for each format.
    """
    templates = Environment(
        loader=FileSystemLoader(data_files.folders("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - configuration files are not HTML
        auto_reload=False,
    )
    templates.filters.update(FILTERS)
    return templates


@cache
def template(name: str) -> Template:
    """The compiled template ``name`` (``eos/switch.j2``). Raises jinja2.TemplateNotFound for an unknown one."""
    loaded = environment().get_template(name)
    loaded.globals = dict(loaded.globals)  # a chain of maps would be walked at every rendering
    return loaded
