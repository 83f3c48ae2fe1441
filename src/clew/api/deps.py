"""What routes are given: the one :class:`~clew.app.Clew` of this server."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from clew.app import Clew


def get_clew(request: Request) -> Clew:
    """The Clew that :func:`clew.api.server.create_app` was given."""
    clew: Clew = request.app.state.clew
    return clew


ClewDep = Annotated[Clew, Depends(get_clew)]
