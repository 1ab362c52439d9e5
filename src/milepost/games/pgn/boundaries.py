"""Where one PGN game ends and the next begins, found over bytes without parsing moves.

Both readers stand on this one scan: the header reader takes the tags of each game from it, the
move reader takes the movetext. So they cannot disagree about what a game is. The rules, in the
order in which they apply to a line:

1. A line that begins with ``%`` or ``;`` is a remark and never begins or ends a game.
2. A line that begins with ``[`` and a letter or digit is a *tag line*.
3. A tag line that follows movetext (or stands first) begins a game; blank lines are not needed.
   Inside an open ``{`` comment it does so only if it is an Event tag after a blank line, so that a
   comment that was never closed swallows one game and not the rest of the file.
4. An Event tag after a blank line, or behind another Event tag of the same header, begins a game
   even if no movetext came before it: a header that was cut keeps its tags to itself.
5. An Event tag in the middle of a line, behind a result or a tag, begins a game (files joined
   without a line break).
6. Movetext after a blank line goes on with the same game, unless a result ended that game: then it
   begins a game without tags.

python-chess ends a game at any blank line in the movetext; on well-formed files both agree, and a
test asserts it on real ones.
"""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]

_COMPILED = "milepost.games.pgn.scan_kernel"
_BLANK, _TAG, _TEXT, _REMARK = 0, 1, 2, 3
_EVENT_TAG = re.compile(rb"\[Event[ \t]")
_TAG_PAIR = re.compile(rb'\[[A-Za-z0-9][A-Za-z0-9_+#=:-]*\s*"[^\r\n]*?"\s*\]')
_LINE_TAIL = 200
_ENDS_GAME = re.compile(rb'(?:1-0|0-1|1/2-1/2|\*|"\])[ \t]*\Z')
_RESULT_AT_END = re.compile(rb"(?:1-0|0-1|1/2-1/2|\*)\s*\Z")
_OUTSIDE_COMMENTS = re.compile(rb"\{|;[^\n]*|^%[^\n]*|^\[[A-Za-z0-9][^\n]*", re.MULTILINE)


@dataclass(frozen=True)
class Found:
    """The games in a text, by their positions."""

    starts: Positions
    """Where each game begins."""
    movetexts: Positions
    """Where each game's movetext begins."""
    line_indexes: Positions
    """How many lines stand before each game."""
    line_ends: int
    """How many line ends the text holds."""
    tag_starts: Positions | None = None
    """Where each tag line begins, if the text is of the plain form."""
    tag_ends: Positions | None = None
    """Where each tag line ends, without the line feed."""

    @classmethod
    def nothing(cls, line_ends: int) -> Found:
        """No games."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, none, line_ends)


def scan_kernel(*, load: bool = False) -> Any:
    """Return the compiled scan, None where nobody has asked to load it.

    Loading it takes a while: see `milepost.games.pgn.blocks.WORTH_COMPILED`.
    """
    if load:
        importlib.import_module(_COMPILED)
    return sys.modules.get(_COMPILED)


def find_games(text: bytes, whole: int | None = None) -> Found:
    """Find the games in `text`, which begins where a game may begin, or in its first bytes.

    Nearly all files are of one plain form, which a few array operations can tell; the rules are
    applied line by line only where it is not.
    """
    data = np.frombuffer(text, dtype=np.uint8)[:whole]
    if (compiled := scan_kernel()) is not None and (scanned := compiled.scan_plain(data)):
        return Found(*scanned)
    newlines = np.flatnonzero(data == 0x0A)
    line_starts = np.concatenate(([0], newlines + 1))
    if line_starts[-1] == len(data):
        line_starts = line_starts[:-1]
    if not len(line_starts):
        return Found.nothing(len(newlines))
    plain = _find_plain_games(text, data, newlines, line_starts)
    if plain is not None:
        return plain
    return _find_games_by_rules(text[:whole], data, newlines, line_starts)


def _find_plain_games(  # noqa: PLR0911 - each return names one thing that is not plain
    text: bytes, data: NDArray[np.uint8], newlines: Positions, line_starts: Positions
) -> Found | None:
    """Find the games of a text of the plain form; `None` if it is of another form.

    The plain form: each game is a run of tag lines that begins with an Event tag, a blank line or
    none, a run of movetext lines, and blank lines. No line begins with a blank, ``%`` or ``;``, no
    comment is open where a game begins, and no tag stands in the middle of a line.
    """
    first = data[line_starts]
    odd = (first == 0x25) | (first == 0x3B)
    if (first <= 0x20).any():
        # A line of movetext may begin with blanks (servers write " 0-1" for a game without moves).
        indented = (first == 0x20) | (first == 0x09)
        inside = data[np.minimum(line_starts[indented] + 1, len(data) - 1)]
        odd[indented] = (inside <= 0x20) | (inside == 0x5B)
    is_tag = first == 0x5B
    tags = np.flatnonzero(is_tag)
    if odd.any() or not len(tags):
        return None
    is_blank = np.append((first == 0x0A) | (first == 0x0D), True)
    if not is_blank[: tags[0]].all():
        return None
    tag_starts = line_starts[tags]
    second = data[np.minimum(tag_starts + 1, len(data) - 1)]
    if not _is_alphanumeric(second).all():
        return None
    begins = np.concatenate(([True], np.diff(tags) != 1))
    first_lines = tags[begins]
    starts = line_starts[first_lines]
    # The first tag of each game is an Event tag, and no other one is.
    if not np.array_equal(_event_tags(data, tag_starts[second == 0x45]), starts):
        return None
    if b"{" in text and _any_brace_open(text, starts):
        return None
    if _may_have_inner_tags(data, len(tags)) and len(_inner_tags(data, line_starts)):
        return None

    # Behind the last tag line of each game: perhaps one blank line, then movetext.
    last_tag_lines = np.append(tags[np.flatnonzero(begins)[1:] - 1], tags[-1])
    behind = np.minimum(last_tag_lines + 1, len(first))
    movetext_lines = behind + is_blank[behind]
    movetext_lines = np.minimum(movetext_lines, len(first))
    # The last game may be cut off before its movetext: the end of a block, not of the file.
    has_movetext = ~is_blank[movetext_lines] & (
        movetext_lines < np.append(first_lines[1:], len(first))
    )
    if not has_movetext[:-1].all() or not (has_movetext[-1] or movetext_lines[-1] == len(first)):
        return None
    # Text behind a blank line, other than the movetext that each game begins with, needs the rules.
    text_after_blank = ~is_blank[1:-1] & ~is_tag[1:] & is_blank[:-2]
    if np.count_nonzero(text_after_blank) != np.count_nonzero(is_blank[behind] & has_movetext):
        return None
    return Found(
        starts,
        np.append(line_starts, len(data))[movetext_lines],
        first_lines,
        len(newlines),
        tag_starts,
        np.append(newlines, len(data))[tags],
    )


def _find_games_by_rules(
    text: bytes, data: NDArray[np.uint8], newlines: Positions, line_starts: Positions
) -> Found:
    events = _event_tags(data, np.flatnonzero(data == 0x5B))
    real_line_starts = line_starts
    line_starts = _with_inner_events(text, line_starts, events)
    kinds = _line_kinds(text, data, line_starts)

    significant = np.flatnonzero((kinds == _TAG) | (kinds == _TEXT))
    if not len(significant):
        return Found.nothing(len(newlines))
    kind = kinds[significant]
    before = np.concatenate(([_BLANK], kind[:-1]))
    after_blank = np.concatenate(([True], kinds[significant[1:] - 1] == _BLANK))
    position = line_starts[significant]
    is_event = (kind == _TAG) & _contains(events, position)

    opens = (kind == _TAG) & (before != _TAG)
    opens |= is_event & (after_blank | ~_contains(real_line_starts, position))
    opens[0] = True
    # Two Event tags in one run of tag lines: the header of the first game was cut.
    runs = np.cumsum((kind != _TAG) | (before != _TAG))
    event_lines = np.flatnonzero(is_event)
    opens[event_lines[1:][np.diff(runs[event_lines]) == 0]] = True
    opens |= (kind == _TEXT) & (before == _TEXT) & after_blank
    candidates = np.flatnonzero(opens)
    # Only candidates that are not plainly a game's first tag need a closer look, one by one.
    plain = is_event[candidates] & ~_brace_open(data, position[candidates])
    plain[0] = True
    accepted: list[int] = []
    # Each stretch of text is looked at once, however many lines do not begin a game.
    seen, inside_comment = 0, False
    for candidate, is_plain in zip(candidates.tolist(), plain.tolist(), strict=True):
        here = int(position[candidate])
        if not is_plain:
            inside_comment = comment_is_open(text[seen:here], inside=inside_comment)
            seen = here
        if is_plain or _begins_game(
            text,
            int(position[candidate - 1]),
            here,
            inside_comment=inside_comment,
            is_tag=bool(kind[candidate] == _TAG),
            is_event=bool(is_event[candidate]),
            after_blank=bool(after_blank[candidate]),
        ):
            accepted.append(candidate)
            seen, inside_comment = here, False
    starts = position[np.array(accepted, dtype=np.int64)]
    text_lines = np.append(position[kind == _TEXT], len(text))
    ends = np.append(starts[1:], len(text))
    movetexts = np.minimum(text_lines[np.searchsorted(text_lines[:-1], starts)], ends)
    return Found(starts, movetexts, np.searchsorted(newlines, starts), len(newlines))


def _event_tags(data: NDArray[np.uint8], positions: Positions) -> Positions:
    """Return those of the positions of ``[`` where an Event tag begins."""
    positions = positions[positions < len(data) - 7]
    for step, letter in enumerate(b"Event", start=1):
        positions = positions[data[positions + step] == letter]
    behind = data[positions + 6]
    return np.asarray(positions[(behind == 0x20) | (behind == 0x09)])


def _may_have_inner_tags(data: NDArray[np.uint8], tags: int) -> bool:
    """Whether some bracket neither begins one of the tag lines nor a command, as in ``[%clk``."""
    is_bracket = data == 0x5B
    others = np.count_nonzero(is_bracket) - tags
    return bool(others) and others != np.count_nonzero(is_bracket[:-1] & (data[1:] == 0x25))


def _inner_tags(data: NDArray[np.uint8], line_starts: Positions) -> Positions:
    """Where a bracket and a letter stand in the middle of a line, behind ``]`` or a result."""
    positions = np.flatnonzero(data[:-1] == 0x5B)
    positions = positions[_is_alphanumeric(data[positions + 1])]
    return positions[~_contains(line_starts, positions)]


def _is_alphanumeric(letters: NDArray[np.uint8]) -> NDArray[np.bool_]:
    lower = letters | 0x20
    is_letter = (lower >= 0x61) & (lower <= 0x7A)
    return np.asarray(is_letter | ((letters >= 0x30) & (letters <= 0x39)))


def _contains(ordered: Positions, values: Positions) -> NDArray[np.bool_]:
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    found = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[found] == values)


def _with_inner_events(text: bytes, line_starts: Positions, events: Positions) -> Positions:
    """Add the places in the middle of a line where an Event tag begins a game (rule 5)."""
    inner = []
    places = events[~_contains(line_starts, events)]
    lines = line_starts[np.searchsorted(line_starts, places, side="right") - 1]
    for place, line_start in zip(places.tolist(), lines.tolist(), strict=True):
        # Only what stands close before it, since a line may hold a whole file.
        before = text[max(line_start, place - _LINE_TAIL) : place]
        if _ENDS_GAME.search(before) and _TAG_PAIR.match(text, place):
            inner.append(place)
    return np.union1d(line_starts, np.array(inner, dtype=np.int64)) if inner else line_starts


def _line_kinds(text: bytes, data: NDArray[np.uint8], line_starts: Positions) -> NDArray[np.int8]:
    first = data[line_starts]
    second = data[np.minimum(line_starts + 1, len(data) - 1)]
    kinds = np.full(len(line_starts), _TEXT, dtype=np.int8)
    kinds[(first == 0x0A) | (first == 0x0D)] = _BLANK
    kinds[(first == 0x25) | (first == 0x3B)] = _REMARK
    kinds[(first == 0x5B) & _is_alphanumeric(second)] = _TAG
    for index in np.flatnonzero((first == 0x20) | (first == 0x09)).tolist():
        end = int(line_starts[index + 1]) if index + 1 < len(line_starts) else len(text)
        line = text[int(line_starts[index]) : end].strip()
        if not line:
            kinds[index] = _BLANK
        elif _TAG_PAIR.fullmatch(line):
            kinds[index] = _TAG
    return kinds


def _brace_open(data: NDArray[np.uint8], positions: Positions) -> NDArray[np.bool_]:
    """Whether the last brace before a position opens a comment: a cheap sign of an open one."""
    braces = np.flatnonzero((data == 0x7B) | (data == 0x7D))
    if not len(braces):
        return np.zeros(len(positions), dtype=np.bool_)
    found = np.searchsorted(braces, positions) - 1
    return np.asarray((found >= 0) & (data[braces[np.maximum(found, 0)]] == 0x7B))


def _any_brace_open(text: bytes, positions: Positions) -> bool:
    """Whether `_brace_open` holds for any of some ascending positions.

    Most games have many braces, of which only the last one counts: it is sought from behind.
    """
    before = 0
    for here in positions.tolist():
        last_shut = text.rfind(b"}", before, here)
        if text.find(b"{", max(last_shut, before), here) >= 0:
            return True
        before = here
    return False


def _begins_game(
    text: bytes,
    line_before: int,
    here: int,
    *,
    inside_comment: bool,
    is_tag: bool,
    is_event: bool,
    after_blank: bool,
) -> bool:
    """Decide, for a line that is not plainly the first tag of a game, whether it begins one."""
    if not is_tag:
        return not inside_comment and bool(_RESULT_AT_END.search(text[line_before:here]))
    if inside_comment:
        return is_event and after_blank
    line_end = text.find(b"\n", here)
    line = text[here : line_end if line_end >= 0 else len(text)]
    if _EVENT_TAG.match(line.lstrip()) or _TAG_PAIR.match(line.lstrip()):
        return True
    # A damaged tag shall not become text of the game before, where that one is complete.
    return after_blank and bool(_RESULT_AT_END.search(text[line_before:here]))


def comment_is_open(game: bytes, *, inside: bool = False) -> bool:
    """Whether a ``{`` comment is still open at the end of a game, or of a part of it.

    `inside` says whether one was open where the part begins.
    """
    place = 0
    while True:
        if inside:
            # Remarks and tags inside a comment are its text, but a closing brace in them counts.
            place = game.find(b"}", place) + 1
            if not place:
                return True
        mark = _OUTSIDE_COMMENTS.search(game, place)
        if mark is None:
            return False
        place = mark.end()
        inside = mark.group() == b"{"
