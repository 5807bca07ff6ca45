"""Arrays by their names at one address, which is all that kernels hand to each other.

Forty arrays are forty arguments of every function, or many more where Python calls it: nearly all of what compiling
takes is about these. The address of a table of where each array begins is one, and reading a field of it is one load.
"""

from __future__ import annotations

import operator
from hashlib import sha256
from typing import Any, ClassVar, TypeAlias, get_args, get_type_hints

import numpy as np
from llvmlite import ir
from numba import from_dtype
from numba.core import types
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global, signature
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)
from numpy.typing import NDArray

#: What `Arrays` say of their fields.
Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
UInt64: TypeAlias = NDArray[np.uint64]
Float64: TypeAlias = NDArray[np.float64]


class Table(types.Type):
    """Compiler's type of the address of a table of where arrays begin.

    Parameters
    ----------
    fields : tuple of (str, numba type)
        Name and element type of each array, in the order of the table.
    """

    def __init__(self, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = fields
        digest = sha256(repr(fields).encode()).hexdigest()[:8]
        super().__init__(name=f"Table{digest}")  # is part of the name of every kernel

    @property
    def key(self) -> tuple[tuple[str, Any], ...]:
        """What tells types apart."""
        return self.fields


class Begin(types.Type):
    """Compiler's type of where an array begins. Signed integers are read as int64, whatever they are stored as.

    So kernels know one kind of integer, and are compiled once for all.
    """

    def __init__(self, stored: Any) -> None:
        self.stored = stored
        self.read = types.int64 if stored in types.signed_domain else stored
        super().__init__(name=f"Begin{stored}")


class Arrays:
    """Base of dataclasses of contiguous arrays: to kernels, one is the address of a table of where its arrays begin.

    Attributes
    ----------
    table : int64 array
        The table, which holds as long as the arrays do.
    address : int

    Raises
    ------
    TypeError
        An array is not what its field says.
    """

    table: ClassVar[Int64]
    address: ClassVar[int]
    _numba_type_: ClassVar[Table]

    def __init_subclass__(cls) -> None:
        hints = get_type_hints(cls)
        dtypes = {name: np.dtype(get_args(get_args(hints[name])[1])[0]) for name in cls.__annotations__}
        cls._numba_type_ = Table(tuple((name, from_dtype(dtype)) for name, dtype in dtypes.items()))

    def __post_init__(self) -> None:
        begins = []
        for name, stored in self._numba_type_.fields:
            array = getattr(self, name)
            if from_dtype(array.dtype) is not stored or not array.flags.c_contiguous:
                raise TypeError(f"'{name}' is of {array.dtype}, not of {stored}")
            begins.append(array.ctypes.data)
        table = np.array(begins, np.int64)
        vars(self).update(table=table, address=table.ctypes.data)


def table_of(arrays: type[Arrays]) -> Table:
    """Return the compiler's type of some arrays."""
    return arrays._numba_type_


@register_model(Table)
class _TableModel(models.PrimitiveModel):
    def __init__(self, manager: Any, table: Table) -> None:
        super().__init__(manager, table, ir.IntType(8).as_pointer())


@register_model(Begin)
class _BeginModel(models.PrimitiveModel):
    def __init__(self, manager: Any, begin: Begin) -> None:
        super().__init__(manager, begin, manager[begin.stored].get_data_type().as_pointer())


@unbox(Table)
def _address(_table: Table, arrays: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(arrays, "address")
    address = c.builder.inttoptr(c.pyapi.long_as_longlong(number), ir.IntType(8).as_pointer())
    c.pyapi.decref(number)
    return NativeValue(address)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Table

    def generic_resolve(self, table: Table, name: str) -> Any:
        stored = dict(table.fields).get(name)
        return None if stored is None else Begin(stored)


@infer_global(operator.getitem)
class _Get(AbstractTemplate):
    def generic(self, arguments: Any, _named: Any) -> Any:
        begin, _ = arguments
        return signature(begin.read, begin, types.int64) if isinstance(begin, Begin) else None


@infer_global(operator.setitem)
class _Set(AbstractTemplate):
    def generic(self, arguments: Any, _named: Any) -> Any:
        begin, _, _ = arguments
        return signature(types.none, begin, types.int64, begin.stored) if isinstance(begin, Begin) else None


@lower_getattr_generic(Table)
def _field(context: Any, builder: Any, table: Table, address: Any, name: str) -> Any:
    """Read where an array begins. Tables never change, so it need not be read twice."""
    names = [field for field, _ in table.fields]
    kind = context.get_value_type(Begin(dict(table.fields)[name]))
    slots = builder.bitcast(address, kind.as_pointer())
    load = builder.load(builder.gep(slots, [ir.Constant(ir.IntType(64), names.index(name))]))
    load.set_metadata("invariant.load", builder.module.add_metadata([]))
    return load


@lower_builtin(operator.getitem, Begin, types.int64)
def _get(context: Any, builder: Any, how: Any, arguments: Any) -> Any:
    begin, index = arguments
    kind = how.args[0]
    found = context.unpack_value(builder, kind.stored, builder.gep(begin, [index]))
    return context.cast(builder, found, kind.stored, kind.read)


@lower_builtin(operator.setitem, Begin, types.int64, types.Any)
def _set(context: Any, builder: Any, how: Any, arguments: Any) -> Any:
    begin, index, value = arguments
    context.pack_value(builder, how.args[0].stored, value, builder.gep(begin, [index]))
    return context.get_dummy_value()


__all__ = ["Arrays", "Begin", "Float64", "Int32", "Int64", "Table", "UInt64", "table_of"]
