"""Runs the tests that need a PostgreSQL server: `make test-services`.

``REBALANCER_TEST_POSTGRES`` names a server, as an SQLAlchemy URL of a database in which schemas may be made; otherwise
one of its own is started in a temporary folder, on a free port of this machine, and stopped afterwards. The tests are
the files ``check_*.py`` beside this one, a name that the other tests do not collect: they need no server.
"""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "REBALANCER_TEST_POSTGRES"
HERE = Path(__file__).parent
HELP = f"""\
No PostgreSQL server was found. Install one, such as 'apt-get install postgresql' or 'brew install postgresql', and run this again: it
starts that in a temporary folder. Or name a running one: {VARIABLE}=postgresql+psycopg://user:password@host/database
"""  # noqa: E501


def main() -> int:
    """Run the tests and return pytest's exit code."""
    tests = [sys.executable, "-m", "pytest", "-q", "-o", "python_files=check_*.py", str(HERE), *sys.argv[1:]]
    if os.environ.get(VARIABLE):
        return subprocess.run(tests, check=False).returncode
    programs = found_programs()
    if programs is None:
        print(HELP, end="", file=sys.stderr)
        return 1
    with own_server(programs) as url:
        return subprocess.run(tests, env={**os.environ, VARIABLE: url}, check=False).returncode


def found_programs() -> Path | None:
    """Return the folder with the programs of the newest server, or None: Debian keeps them off the PATH."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += map(Path, sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=_version, reverse=True))
    folders += map(Path, sorted(glob.glob("/usr/pgsql-*/bin"), reverse=True))
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


def _version(folder: str) -> float:
    try:
        return float(Path(folder).parent.name)
    except ValueError:
        return 0.0


@contextmanager
def own_server(programs: Path) -> Iterator[str]:
    """Start a server with a password in a temporary folder, and yield its URL."""
    folder = Path(tempfile.mkdtemp(prefix="rebalancer-postgres-"))
    user = _user(folder)
    data, password = folder / "data", "ge@heim:1/2"
    (folder / "password").write_text(password + "\n", encoding="utf-8")
    (folder / "password").chmod(0o644)

    def run(program: str, *arguments: object) -> None:
        # The server inherits what pg_ctl writes to; a pipe would stay open as long as it runs.
        with (folder / f"{program}.log").open("a+b") as log:
            command = [str(programs / program), *map(str, arguments)]
            done = subprocess.run(command, stdout=log, stderr=log, cwd=folder, check=False, **user)  # type: ignore[call-overload]
            if done.returncode:
                log.seek(0)
                raise SystemExit(f"{program} failed:\n{log.read().decode(errors='replace')}")

    port = _free_port()
    try:
        run("initdb", "-D", data, "-U", "tester", "-A", "scram-sha-256", "--pwfile", folder / "password", "-E", "UTF8",
            "--locale=C", "--no-sync")  # fmt: skip
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run("pg_ctl", "-D", data, "-w", "-l", folder / "server.log", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://tester:ge%40heim%3A1%2F2@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user(folder: Path) -> dict[str, object]:
    """Return as whom the server runs: it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(folder, found.pw_uid, found.pw_gid)
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise SystemExit("PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody'")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
