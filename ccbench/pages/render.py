# SPDX-License-Identifier: Apache-2.0
"""Rendering of pages."""

from __future__ import annotations

from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

__all__ = ["rendered"]


def rendered(package: str, folder: str, template: str, /, **values: Any) -> str:
    """Return a page.

    Parameters
    ----------
    package, folder : str
        Package of the template, and its folder in the package.
    template : str
        File name of the template, which extends ``base.html``.
    **values
        Variables of the template.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, folder), PackageLoader("ccbench", "pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)
