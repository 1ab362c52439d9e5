"""Moves as people write them."""

from __future__ import annotations

import chess

_SERVER = "lichess.org"


def san_of(position: str, uci: str | None) -> str:
    """Return a move in SAN; as it is where the position does not allow it, empty where none."""
    if not uci:
        return ""
    try:
        board = chess.Board(position)
        return board.san(board.parse_uci(uci))
    except (ValueError, AssertionError):
        return uci


def numbered(move_number: int | None, colour: str | None, san: str) -> str:
    """Return a move with its number: ``23. Rxe6``, ``23... Kh8``."""
    if move_number is None:
        return san
    return f"{move_number}{'.' if colour == 'white' else '...'} {san}"


def link_to(site: str | None, ply: int | None) -> str | None:
    """Return the address of a position, if the game has one: lichess shows a ply by its number."""
    if not site or not site.startswith(("https://", "http://")):
        return None
    if _SERVER in site and ply is not None and "/study/" not in site:
        return f"{site.split('#')[0]}#{ply}"
    return site
