"""Parquet tables, read with pyarrow. Rows take the place of lines in messages, counted from 1."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from rebalancer.problem import Fault
from rebalancer.problem.numbers import widened, widened_values
from rebalancer.scenario.document import Mark
from rebalancer.scenario.tables import Table, fact


def read_parquet(path: str, file: str, typed: str, wanted: Collection[str]) -> Table | Fault | list[Fault]:
    """Read columns of a Parquet file; parameters as in `open_table`."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        message = f"reading '{typed}' needs pyarrow: pip install rebalancer-cp[parquet]"
        return Fault("missing-package", message, (), typed, "pip install rebalancer-cp[parquet]")
    try:
        with pq.ParquetFile(path) as opened:
            header = list(opened.schema_arrow.names)
            present = [name for name in header if name in wanted]
            repeated = [name for name in present if header.count(name) > 1]
            if repeated:
                column = header.index(repeated[0]) + 1
                message = f"the column '{repeated[0]}' is there twice"
                return [Fault("duplicate-column", message, (), repeated[0], None, file, 1, column)]
            data = opened.read(columns=present)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return [Fault("parquet-syntax", f"the file is no readable Parquet: {reason}", (), None, None, file, 1, 1)]
    return ParquetTable(file, header, data)


class ParquetTable(Table):
    """Columns of a Parquet file."""

    def __init__(self, file: str, header: list[str], data: Any) -> None:
        super().__init__(file, header, data.num_rows)
        self._data = data

    def cell(self, column: int, row: int) -> Mark:
        """Return the row and the position of the column."""
        return row + 1, column + 1

    def names(self, column: str, distinct: bool = False) -> list[str | None] | None:
        """Return a column of texts or whole numbers as texts; the empty text is missing as well."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values = self._data.column(column)
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if not (_is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
            self._wrong_type(column, f"column '{column}' holds {kind}, expected text; names are text")
            return None
        if distinct and not pa.types.is_dictionary(values.type):
            texts: list[str | None] = values.cast(pa.string()).to_numpy(zero_copy_only=False).tolist()
            return [text or None for text in texts] if "" in texts else texts
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        encoded = encoded.unify_dictionaries().combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], encoded.type)
        known: list[str | None] = [None if text in ("", None) else str(text) for text in encoded.dictionary.to_pylist()]
        known.append(None)
        codes = pc.fill_null(encoded.indices.cast(pa.int64()), len(known) - 1)
        return list(map(known.__getitem__, codes.to_numpy(zero_copy_only=False).tolist()))

    def numbers(self, column: str) -> Any:
        """Return a column of numbers; nothing, NaN and infinity are faults."""
        import pyarrow as pa

        values = self._data.column(column)
        kind = values.type
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if not numeric:
            self._wrong_type(column, f"column '{column}' holds {kind}, expected numbers")
            return None
        if values.null_count:
            rows = np.flatnonzero(values.is_null().to_numpy()).tolist()
            self.report_rows("empty-number", f"column '{column}': expected a number, the field is empty", column, rows)
            return None
        if pa.types.is_decimal(kind):
            return values.to_pylist()
        array = values.to_numpy()
        if array.dtype.kind == "f":
            array = widened(array)
            wrong = np.flatnonzero(~np.isfinite(array)).tolist()
            if wrong:
                said = f"column '{column}': expected a finite number, got {{value}}"
                self.report_rows("not-finite", said, column, wrong, array.tolist())
                return None
        return array

    def values(self, column: str) -> list[Any] | None:
        """Return a column of facts as Python values."""
        import pyarrow as pa

        values = self._data.column(column)
        given = values.to_pylist()
        if pa.types.is_float16(values.type) or pa.types.is_float32(values.type):
            given = widened_values(given, values.type.to_pandas_dtype())
        return list(map(fact, given))

    def _wrong_type(self, column: str, message: str) -> None:
        place = self.header.index(column) + 1
        self.faults.append(Fault("wrong-type", message, (column,), None, None, self.file, 1, place))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    view = getattr(pa.types, "is_string_view", None)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or (view is not None and view(kind)))
