"""Whether the output is compressed."""

from __future__ import annotations

import pyarrow as pa

_SAMPLE_ROWS = 1 << 14
"""Rows that are compressed on trial."""

_MAX_SHARE = 0.9
"""Compressed size, relative to the plain one, up to which compression is worth its time."""


def choose_compression(rows: pa.Table) -> pa.ipc.IpcWriteOptions:
    """Return the options to write rows with: compressed only if that makes them smaller.

    Random numbers take longer to compress than to write, and do not get smaller.

    Examples
    --------
    >>> choose_compression(pa.table({"a": [1] * 1000})).compression
    'lz4'
    """
    plain, compressed = pa.ipc.IpcWriteOptions(), pa.ipc.IpcWriteOptions(compression="lz4")
    sample = rows.slice(0, _SAMPLE_ROWS)
    is_smaller = _count_bytes(sample, compressed) <= _MAX_SHARE * _count_bytes(sample, plain)
    return compressed if is_smaller else plain


def _count_bytes(rows: pa.Table, options: pa.ipc.IpcWriteOptions) -> int:
    sink = pa.MockOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    return int(sink.size())
