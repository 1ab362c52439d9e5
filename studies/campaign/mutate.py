"""Ways to damage an input: bytes of any kind, cells of tables, branches of JSON."""

from __future__ import annotations

import json
import random
from typing import Any

SIGNS = b"{}()[];%\"\\\n\r\t *$#,.:-+=@'0123456789\x00\xff\xef\xbb\xbf"
PIECES = (
    b'[Event "', b'[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n', b"\r", b"\r\n\r\n", b"\xff\xfe", b"(((",
    b"{" * 50, b"1e999", b"NaN", b"-0", b"1/2-1/2", b"null", b"[[[[", b"\x28\xb5\x2f\xfd",
    b"info depth 1 score cp 99999999999 pv e2e4\n", b"99999999999999999999", b"a" * 5000,
    b"\n" * 500,
)  # fmt: skip
"""What has a meaning somewhere."""
CELLS: tuple[Any, ...] = (
    None, "", " ", "x", "=1+1", "-", "0", "-1", "1e308", "NaN", "inf", "-inf", "1e999", "20240",
    "10000-01-01", "2024-02-31", "\x00", "é" * 300, "1/2", "99999999999999999999", "true", "[1,2]",
    "A", "a", "ß", "\ufeff", "2000-01-01T00:00:00Z",
)  # fmt: skip
LEAVES: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, -1e308, 10**30, "", "x", [], {}, [[]], [None], {"a": 1}, float("nan"),
)  # fmt: skip


def damaged_bytes(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with one to four damages."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        place = chance.randrange(len(data) + 1)
        length = chance.choice((1, 1, 2, 8, 64, 1000))
        way = chance.randrange(7)
        if way == 0:  # bits
            some = bytearray(data)
            for _ in range(chance.choice((1, 2, 10))):
                if some:
                    some[chance.randrange(len(some))] ^= 1 << chance.randrange(8)
            data = bytes(some)
        elif way == 1:
            data = data[:place] + data[place + length :]
        elif way == 2:
            data = data[:place]
        elif way == 3:
            data = data[:place] + bytes(chance.choices(SIGNS, k=min(length, 64))) + data[place:]
        elif way == 4:
            data = data[:place] + chance.choice(PIECES) + data[place:]
        elif way == 5:
            data = data[:place] + data[max(0, place - length) :]
        else:
            other = chance.randrange(len(data) + 1)
            data = data[:place] + data[other : other + length] + data[place + length :]
    return data


def damaged_rows(rows: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """Return rows of a table with some cells, names of columns or rows changed."""
    rows = [dict(row) for row in rows]
    for _ in range(chance.choice((1, 1, 2, 5))):
        if not rows:
            break
        row = chance.choice(rows)
        name = chance.choice(list(rows[0]))
        way = chance.randrange(6)
        if way <= 2:
            row[name] = chance.choice(CELLS)
        elif way == 3:
            for each in rows:
                each[name] = chance.choice(CELLS)
        elif way == 4:
            for each in rows:
                each[f"{name}_"] = each.pop(name, None)
        else:
            rows.insert(chance.randrange(len(rows)), dict(row))
    return rows


def damaged_tree(tree: Any, chance: random.Random) -> Any:
    """Return JSON values with one branch removed, replaced, doubled or nested."""
    tree = json.loads(json.dumps(tree))
    for _ in range(chance.choice((1, 1, 3))):
        node, parent, key = tree, None, None
        while isinstance(node, dict | list) and node and chance.random() < 0.75:
            parent = node
            key = (
                chance.choice(list(node)) if isinstance(node, dict) else chance.randrange(len(node))
            )
            node = node[key]
        if parent is None or key is None:
            continue
        way = chance.randrange(4)
        if way == 0:
            parent[key] = chance.choice(LEAVES)
        elif way == 1:
            del parent[key]
        elif way == 2 and isinstance(node, int | float):
            parent[key] = node * chance.choice((-1, 0, 1e6, 1e-6, 1e300))
        else:
            parent[key] = [node, node]
    return tree
