"""Where all HTML and SVG is made: Jinja2 templates, and elements of charts.

Texts are escaped wherever they are put in; only what is `Markup` already stays as it is.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

try:
    import jinja2
    from markupsafe import Markup, escape
except ImportError:
    raise ImportError("forest.report needs jinja2: pip install 'cqrf[report]'") from None

__all__ = ["Markup", "asset", "document", "element", "macro", "render"]


@cache
def _environment() -> jinja2.Environment:
    """Templates are called ``report/...`` and ``explore/...``, after the package they are in."""
    rooms = {name: jinja2.PackageLoader(f"cqrf.app.{name}") for name in ("report", "explore")}
    return jinja2.Environment(
        loader=jinja2.PrefixLoader(rooms),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: object) -> str:
    """Fill in a template, such as ``report/page.html``."""
    return _environment().get_template(template).render(**values)


def document(template: str, title: str, nonce: str = "", **values: object) -> str:
    """Write a whole page, from a template that extends ``report/document.html``.

    Parameters
    ----------
    template : str
        Its name.
    title : str
        Title of the page.
    nonce : str
        If the page is served with a policy that allows no other script: the nonce of ours.
    **values
        What else the template shows.
    """
    style = asset("cqrf.app.report", "page.css")
    script = asset("cqrf.app.report", "chart.js")
    return render(template, title=title, nonce=nonce, style=style, script=script, **values)


def macro(name: str, *values: object) -> Markup:
    """Write a part of a page with the macro of that name in ``report/parts.html``."""
    parts = _environment().get_template("report/parts.html").module
    return Markup(getattr(parts, name)(*values))


def asset(package: str, name: str) -> Markup:
    """Read a style sheet or a script that ships with a package; it is trusted and not escaped."""
    return Markup(files(package).joinpath("assets", name).read_text(encoding="utf-8"))


def element(name: str, *content: object, **attributes: object) -> Markup:
    """Write an element with what is inside it.

    Parameters
    ----------
    name : str
        Its tag.
    *content
        Elements, and texts, which are escaped.
    **attributes
        Underscores become hyphens, and one at the end is dropped (``class_``). An attribute that
        is None is left out; floats, which are lengths here, are written to a tenth.
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(
            Markup(key.rstrip("_").replace("_", "-")),
            f"{value:.1f}" if isinstance(value, float) else value,
        )
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(escape(part) for part in content)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), written, inside)
