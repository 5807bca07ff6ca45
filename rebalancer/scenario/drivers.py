"""What SQLAlchemy needs to reach a database: a driver that is installed, and the patience to wait for a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rebalancer.problem import Fault, nearest

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

#: Seconds after which a server that does not answer counts as away, unless its URL says otherwise.
_CONNECT_SECONDS = 10
#: What a driver is called -> what has to be installed for it, where that has another name.
_PACKAGES = {"psycopg": "rebalancer-cp[postgres]", "psycopg2": "psycopg2-binary", "MySQLdb": "mysqlclient"}
#: Databases that SQLAlchemy knows once this is installed.
_DIALECTS = {"duckdb": "duckdb-engine"}
#: What databases call floats of 32 bits that drivers hand over with 64; others print them as they are meant.
_NARROW = {"duckdb": "FLOAT", "postgresql": "700"}
_BACKENDS = ("sqlite", "postgresql", "mysql", "mariadb", "oracle", "mssql", *_DIALECTS)


def connect_options(url: URL, reading: bool = False) -> dict[str, Any]:
    """Return what the driver is told, beside the URL: not to wait all night for a server, nor to change what is read.

    Parameters
    ----------
    url : URL
    reading : bool
        Whether nothing is written there: DuckDB would make a file that is missing, and lock one that is there.
    """
    if reading and url.get_backend_name() == "duckdb":
        return {"read_only": True}
    known = url.get_backend_name() in ("postgresql", "mysql", "mariadb")
    return {"connect_timeout": _CONNECT_SECONDS} if known and "connect_timeout" not in url.query else {}


def is_narrow(backend: str, kind: Any) -> bool:
    """Return whether a database calls a kind of numbers what has 32 bits; drivers make doubles of them.

    Parameters
    ----------
    backend : str
        Name of the SQLAlchemy dialect.
    kind : object
        Type code in the description of a cursor.
    """
    return str(kind) == _NARROW.get(backend)


def unknown_driver(url: URL) -> Fault:
    """Return the fault of a URL that begins with what SQLAlchemy does not know."""
    backend, _, driver = url.drivername.partition("+")
    if backend in _BACKENDS and driver:
        return Fault("unknown-driver", f"SQLAlchemy knows no driver '{driver}' for {backend}", (), url.drivername)
    if backend in _DIALECTS:
        command = f"pip install {_DIALECTS[backend]}"
        return Fault("missing-package", f"{backend} needs its dialect of SQLAlchemy: {command}", (), backend, command)
    close = nearest(backend, _BACKENDS)
    hint = f"; did you mean '{close}'?" if close else ""
    return Fault("unknown-driver", f"SQLAlchemy knows no database '{backend}'{hint}", (), url.drivername, close)


def missing_driver(url: URL, error: ImportError) -> Fault:
    """Return the fault of a driver that is not installed, with the command that installs it."""
    name = (error.name or url.get_driver_name()).partition(".")[0]
    command = f"pip install {_PACKAGES.get(name, name)}"
    message = f"{url.get_backend_name()} needs its driver '{name}': {command}"
    return Fault("missing-package", message, (), name, command)
