"""Tables as JSON, CSV and Parquet."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import polars as pl
from starlette.responses import JSONResponse, Response

from milepost.io.csvtext import csv_bytes


class Format(StrEnum):
    """What a table is sent as."""

    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def table_response(
    frame: pl.DataFrame,
    form: Format,
    name: str,
    *,
    made: Mapping[str, Any] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Response:
    """Return a table in a format.

    Parameters
    ----------
    frame
        The table.
    form
        The format.
    name
        What a file of it is called, without ending.
    made
        How it was made; inside Parquet and JSON.
    more
        Further values beside the rows, in JSON.
    """
    if form is Format.JSON:
        rows = [{key: plain(value) for key, value in row.items()}
                for row in frame.iter_rows(named=True)]  # fmt: skip
        return JSONResponse({**(more or {}), "rows": rows, "made": plain(dict(made or {}))})
    headers = {"content-disposition": f'attachment; filename="{name}.{form.value}"'}
    if form is Format.CSV:
        return Response(csv_bytes(frame, header=True), media_type="text/csv", headers=headers)
    buffer = io.BytesIO()
    about = {"milepost": json.dumps(made, sort_keys=True, default=str)} if made else None
    frame.write_parquet(buffer, metadata=about)
    media = "application/vnd.apache.parquet"
    return Response(buffer.getvalue(), media_type=media, headers=headers)


def plain(value: Any) -> Any:
    """Return a value as JSON can have it: what is no number is null, times are texts."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, pl.Series):
        return plain(value.to_list())
    return str(value)
