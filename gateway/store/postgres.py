"""PostgreSQL, made to keep the same promises as the file does.

The password comes from its file at each connection and stands in no address, so that no error
and no log can hold it.
"""

from typing import Any

from sqlalchemy import Engine, create_engine, event

from ..faults import OperatorFault, read_small_file
from .places import Database

# A server that is gone must be noticed, so that we try again and can be stopped meanwhile; who
# waits for another's lock waits no longer than SQLite would.
USUAL = {
    "connect_timeout": "5",
    "application_name": "heatveil",
    "client_encoding": "utf8",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
OPTIONS = "-c lock_timeout=2000 -c idle_in_transaction_session_timeout=60000"
# What was committed is on the disk, whatever the server's own file says; more than that may stay.
DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false) "
    "WHERE current_setting('synchronous_commit') = 'off'"
)


def make_engine(database: Database, *, read_only: bool = False) -> Engine:
    """Return an engine on a database; nothing is connected yet.

    Raises:
        OperatorFault: the words cannot be read, hold a password, or psycopg is not installed.
    """
    words: dict[str, Any] = _parse_libpq_words(database)
    if read_only:
        words["options"] += " -c default_transaction_read_only=on"

    def connected() -> Any:
        import psycopg

        connection = psycopg.connect(**words | _read_password(database), autocommit=True)
        connection.execute(DURABLE)
        connection.autocommit = False
        return connection

    # What a statement carried must not end up in a log with its error.
    engine = create_engine(
        "postgresql+psycopg://",
        creator=connected,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        pool_size=4,
    )
    event.listen(engine, "handle_error", _say_less)
    return engine


def _say_less(context: Any) -> None:
    """Leave of an error what went wrong: PostgreSQL would add the row that it went wrong with."""
    fault, raised = context.original_exception, context.sqlalchemy_exception
    state, said = getattr(fault, "sqlstate", None), getattr(fault, "diag", None)
    if state is None or said is None or raised is None:
        return
    values = state.startswith("22")  # data that does not fit is quoted in the first line already
    fault.args = ((None if values else said.message_primary) or type(fault).__name__,)
    raised.args = (f"{fault.args[0]} ({state})",)


def _parse_libpq_words(database: Database) -> dict[str, str]:
    try:
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as fault:
        raise OperatorFault(
            "[store] postgresql is given, and psycopg, which speaks with PostgreSQL, is not "
            "installed: nothing could be kept. Install it: pip install -e '.[postgres]' in "
            "heatveil's checkout"
        ) from fault
    given: dict[str, Any] | None
    try:
        given = conninfo_to_dict(database.words)
    except Exception:  # what it says of the words may repeat a password in them
        given = None
    if given is None:
        raise OperatorFault(
            "[store] postgresql cannot be read; it must be libpq's words, such as "
            '"host=db.example dbname=heatveil user=heatveil", or an address '
            '"postgresql://heatveil@db.example/heatveil". Correct it in the deployment file'
        )
    if given.pop("password", None) is not None:
        raise OperatorFault(
            "[store] postgresql holds a password, and must not: deployment files are copied and "
            "shown. Put the password into a file of its own, and name that under [store] "
            "password_file"
        )
    options = f"{given.pop('options', '')} {OPTIONS}".strip()
    return USUAL | {key: str(value) for key, value in given.items()} | {"options": options}


def _read_password(database: Database) -> dict[str, str]:
    if database.password_file is None:
        return {}
    needed = "PostgreSQL will not have us without it. Mend [store] password_file"
    said = read_small_file(
        database.password_file, "the password file", f"{needed} in the deployment file"
    )
    return {"password": said.rstrip("\r\n")}
