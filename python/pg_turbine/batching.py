"""batching.py - batches(): the rows of a query, some at a time, the next made while the caller works on this one.

A thread with a connection of its own fetches from a cursor and puts batches into a queue. At most QUEUED of them wait there,
and the service makes more ahead of the thread if it streams the query; with a seed, SHUFFLED more are in the shuffle buffer.
Lifetime: the thread knows the _State, not the Batches. So Batches can be forgotten in the middle, by `break` for example, and
its end stops the thread: the statement is cancelled, the connection closed.
Must never: let the thread outlive Batches; lose an error of the server.
"""

from __future__ import annotations

import queue
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import numpy as np

from .columns import Columns
from .copy_decode import Rows, columns_of_arrow
from .errors import CopyWarning
from .opening import boot_id, copy_statement, share
from .sessions import Session, session_of

QUEUED = 1
SHUFFLED = 4
_CURSOR = "pg_turbine_batches"
_OPEN = "SELECT turbine.open_cursor($1::text, $2::text)"
_FETCH = """
WITH made AS MATERIALIZED (SELECT turbine.fetch_result($1::text, $2::bigint, $3::text) AS result)
SELECT result::text, CASE WHEN result IS NOT NULL THEN turbine.export(result) END FROM made"""


class _Stopped(Exception):
    """The caller wants no more."""


class _State:
    """What the thread and Batches share. Each member is thread-safe or written once."""

    def __init__(self, connect: Callable[[], Session], query: str, rows: int, seed: int | None, device: str | None) -> None:
        self.connect = connect
        self.query = query
        self.rows = rows
        self.device = device
        self.random = None if seed is None else np.random.default_rng(seed)
        # Batches, then an exception or None.
        self.queue: queue.Queue[Columns | BaseException | None] = queue.Queue(QUEUED)
        self.stopped = threading.Event()
        self.session: Session | None = None
        self.buffer: list[Columns] = []
        # Set before the first batch of rows that cannot be shared.
        self.is_copying = False

    def put(self, item: Columns | BaseException | None) -> None:
        while not self.stopped.is_set():
            try:
                return self.queue.put(item, timeout=0.1)
            except queue.Full:
                continue
        raise _Stopped

    def emit(self, batch: Columns) -> None:
        """A batch goes to the caller, through the shuffle buffer if there is a seed."""
        if self.random is None:
            return self.put(batch)
        order = self.random.permutation(batch.rows)
        if batch.device.kind == "host":
            batch = batch.take(order)
        else:
            batch.permutation = order
        self.buffer.append(batch)
        if len(self.buffer) > SHUFFLED:
            self._emit_one()

    def _emit_one(self) -> None:
        assert self.random is not None
        self.put(self.buffer.pop(int(self.random.integers(len(self.buffer)))))

    def finish(self) -> None:
        while self.buffer:
            self._emit_one()


def _run(state: _State) -> None:
    """The thread."""
    end: BaseException | None = None
    try:
        with state.connect() as session:
            state.session = session
            try:
                _fetch_all(state, session)
                state.finish()
            finally:
                state.session = None
    except _Stopped:
        return
    except BaseException as error:
        end = error
    finally:
        state.buffer.clear()
    try:
        state.put(end)
    except _Stopped:
        pass


def _fetch_all(state: _State, session: Session) -> None:
    host = session.fetch("SELECT host::text FROM turbine.export_endpoint() WHERE socket IS NOT NULL")
    if host == [(boot_id(),)] and _fetch_shared(state, session):
        return
    _fetch_copies(state, session)


def _fetch_shared(state: _State, session: Session) -> bool:
    """False, before the first batch: the export socket cannot be reached."""
    session.fetch(_OPEN, _CURSOR, state.query)
    is_first = True
    while not state.stopped.is_set():
        result, token = session.fetch(_FETCH, _CURSOR, state.rows, state.device)[0]
        if token is None:
            return True
        batch = share(session, result, bytes(token))
        if batch is None:
            if is_first:
                session.execute(f"CLOSE {_CURSOR}")
                return False
            raise ConnectionError("the export socket can no longer be reached")
        is_first = False
        state.emit(batch)
    raise _Stopped


def _fetch_copies(state: _State, session: Session) -> None:
    state.is_copying = True
    if session.gives_arrow:
        for batch in session.fetch_arrow_batches(state.query):
            state.emit(columns_of_arrow(batch))
        return
    statement, fields = copy_statement(state.query, session.describe(state.query))
    rows = Rows(fields, state.rows, state.emit)
    session.copy_out(statement, rows.take)
    rows.finish(even_empty=False)


def _stop(state: _State, thread: threading.Thread) -> None:
    """Ends the thread: again and again, since a cancellation between two statements ends neither."""
    state.stopped.set()
    while thread.is_alive() and thread is not threading.current_thread():
        session = state.session
        if session is not None:
            try:
                session.cancel()
            except Exception:       # the connection has just been closed
                pass
        thread.join(0.2)
    while True:
        try:
            state.queue.get_nowait()
        except queue.Empty:
            return


class Batches(Iterator[Columns]):
    """An iterator of Columns. As a context manager it ends at the block's end; else when it is exhausted or forgotten."""

    def __init__(self, state: _State) -> None:
        self._state = state
        self._is_over = False
        self._has_warned = False
        thread = threading.Thread(target=_run, args=(state,), name="pg_turbine.batches", daemon=True)
        thread.start()
        self._end = weakref.finalize(self, _stop, state, thread)

    def __next__(self) -> Columns:
        if self._is_over:
            raise StopIteration
        item = self._state.queue.get()
        if isinstance(item, Columns):
            if self._state.is_copying and not self._has_warned:
                self._has_warned = True
                warnings.warn(CopyWarning("the rows are copied through the connection"), stacklevel=2)
            return item
        self.close()
        if item is not None:
            raise item
        raise StopIteration

    def close(self) -> None:
        """Ends the thread and its connection. Batches that the caller has stay."""
        self._is_over = True
        self._end()

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def batches(dsn: str | Callable[[], Any], query: str, rows: int = 1 << 20, shuffle_seed: int | None = None,
            device: str | None = None) -> Batches:
    """The rows of a query in batches of `rows`, the last one smaller.

    `dsn` is a DSN, or a function that makes a connection, which then belongs to batches() and is closed at the end.
    `shuffle_seed`: rows are in random order within a batch, and batches come in random order out of a buffer of four more. A
    row never moves to another batch, nor a batch more than it waits in the buffer: order the query by a random value if that
    is not enough. The same seed, rows in the same order, and the same numpy give the same order.
    Batches of host memory are shuffled by copying. Those of GPU memory are not moved: `Columns.permutation` is the order in
    which to take the rows, and to_torch() takes them so.
    """
    if rows < 1:
        raise ValueError("a batch has at least one row")

    def connect() -> Session:
        if isinstance(dsn, str):
            return session_of(dsn)
        session = session_of(dsn())
        session._is_own = True
        return session

    return Batches(_State(connect, query, rows, shuffle_seed, device))
