"""Apply a difference in batches, and count the objects: an error stops no other object."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterwright.extras.source_of_truth.client import RefusedError, UnansweredError
from clusterwright.extras.source_of_truth.difference import NotThereError, identity_of
from clusterwright.extras.source_of_truth.rows import Ref
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from clusterwright.extras.source_of_truth.difference import RowChange, ServerDifference, ServerObjects
    from clusterwright.extras.source_of_truth.rows import KeptTable, Key

_FIRST_BATCH, _LARGEST_BATCH = 25, 200  # objects
_BATCH_S = 15  # proxies before these servers wait for a minute (nginx, HAProxy); a hundred cables may take so long


class FailedObject(NamedTuple):
    """An object refused by the server, or not tried because an object of its references is missing."""

    table: str
    key: Key
    reason: str


@dataclass
class Done:
    """Counts of created, changed and deleted objects by table, the failed ones, and the reason of an early end."""

    made: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)
    failed: list[FailedObject] = field(default_factory=list)
    stopped: str = ""


class _Item(NamedTuple):
    key: Key
    body: Any


def apply(server: ServerObjects, changes: ServerDifference, progress: Callable[[str], None]) -> Done:
    """Delete, then create and change, table by table; ``progress`` is called with each finished table.

    A server without an answer ends it: ``stopped`` has the reason, and the counts cover the work until then.
    """
    done = Done()
    try:
        for table in reversed(server.system.tables):
            items = [_Item(key, identity) for key, identity in changes.take[table.name]]
            send = partial(server.client.take_away, table.endpoint)
            for batch, _ in _batches(server, items, send, done, table):
                done.taken[table.name] += len(batch)
        for table in server.system.tables:
            _fill(server, table, changes, done)
            if table.name in done.made or table.name in done.changed:
                progress(table.name)
    except ClusterwrightError as error:
        done.stopped = str(error)
    return done


def _fill(server: ServerObjects, table: KeptTable, planned: ServerDifference, done: Done) -> None:
    amended = table.amends is not None
    changes = planned.change[table.name] + (planned.make[table.name] if amended else [])
    items = _items(server, table, changes, done, changing=True)
    rows = {change.row.key: change.row for change in planned.make[table.name]}
    for batch, _ in _retried(server, items, partial(server.client.change, table.endpoint), done, table):
        done.changed[table.name] += len(batch)
    if amended:
        return
    items = _items(server, table, planned.make[table.name], done, changing=False)
    for batch, answer in _retried(server, items, partial(server.client.make, table.endpoint), done, table, twice=False):
        done.made[table.name] += len(batch)
        untagged: list[_Item] = []
        for item, record in zip(batch, answer, strict=True):
            server.made(rows[item.key], record["id"])
            if item.body.get("tags") and (table.forgets_tags or not record.get("tags")):
                untagged.append(_Item(item.key, {"id": record["id"], "tags": item.body["tags"]}))
        for _ in _batches(server, untagged, partial(server.client.change, table.endpoint), done, table):
            pass  # counted as made already


def _items(
    server: ServerObjects, table: KeptTable, changes: Iterable[RowChange], done: Done, *, changing: bool
) -> list[_Item]:
    items: list[_Item] = []
    for change in changes:
        names = set(change.row.fields)
        if change.record is not None:
            names = {field.name for field in change.fields}
        try:
            body = {name: server.payload(value) for name, value in change.row.fields.items() if name in names}
            if change.record is not None and "tags" in body:
                body["tags"] += [identity_of(tag) for tag in change.record.get("tags") or ()]
            if changing:
                body["id"] = server.payload(Ref(table.amends or table.name, change.row.key))
        except NotThereError as missing:
            done.failed.append(FailedObject(table.name, change.row.key, f"not tried: {missing}"))
            continue
        items.append(_Item(change.row.key, body))
    return items


def _retried(
    server: ServerObjects, items: Sequence[_Item], send: Callable[[list[Any]], Any], done: Done, table: KeptTable,
    *, twice: bool = True,
) -> Iterator[tuple[Sequence[_Item], Any]]:  # fmt: skip
    """The batches; refused objects are sent once more at the end, when their obstacle may be gone."""
    before = len(done.failed)
    yield from _batches(server, items, send, done, table, twice=twice)
    refused = {failed.key for failed in done.failed[before:]}
    if refused and len(refused) < len(items):
        del done.failed[before:]
        yield from _batches(server, [item for item in items if item.key in refused], send, done, table, twice=twice)


def _batches(
    server: ServerObjects, items: Sequence[_Item], send: Callable[[list[Any]], Any], done: Done, table: KeptTable,
    *, twice: bool = True,
) -> Iterator[tuple[Sequence[_Item], Any]]:  # fmt: skip
    """Send the items, several requests at a time; the accepted ones with the server's answer.

    A refused request is halved until the refused objects are alone. A request without an answer is halved where
    sending it ``twice`` does no harm; where it would create objects twice, it ends everything.
    """
    waiting: deque[Sequence[_Item]] = deque((items,) if items else ())
    running: deque[tuple[Sequence[_Item], Future[tuple[float, Any]]]] = deque()
    batch_size = _FIRST_BATCH
    stopped: ClusterwrightError | None = None
    while waiting or running:
        while waiting and len(running) < server.client.connections:
            batch = waiting.popleft()
            if len(batch) > batch_size:
                waiting.appendleft(batch[batch_size:])
                batch = batch[:batch_size]
            running.append((batch, server.client.pool.submit(_timed, send, [item.body for item in batch])))
        batch, request = running.popleft()
        try:
            seconds, answer = request.result()
            batch_size = paced(len(batch), seconds, batch_size)
            yield batch, answer
        except (RefusedError, UnansweredError) as error:
            middle = len(batch) // 2
            if isinstance(error, UnansweredError) and not (twice and middle):
                stopped = stopped or error
            elif middle:
                waiting += [batch[:middle], batch[middle:]]
            else:
                done.failed.append(FailedObject(table.name, batch[0].key, str(error)))
        except ClusterwrightError as error:
            stopped = stopped or error
        if stopped is not None:
            waiting.clear()
    if stopped is not None:
        raise stopped


def _timed(send: Callable[[list[Any]], Any], bodies: list[Any]) -> tuple[float, Any]:
    began = time.monotonic()
    answer = send(bodies)
    return time.monotonic() - began, answer


def paced(sent: int, seconds: float, batch_size: int) -> int:
    """The size of the next batch: _BATCH_S of work for the server, after ``sent`` objects took ``seconds``."""
    size = int(sent * _BATCH_S / max(seconds, 0.001))
    return max(1, min(size, 2 * batch_size, _LARGEST_BATCH))


def failure_lines(failed: Sequence[FailedObject], most: int) -> Iterator[str]:
    """Lines about failures, at most ``most`` of each table."""
    counts: dict[str, int] = defaultdict(int)
    for failure in failed:
        counts[failure.table] += 1
        if counts[failure.table] <= most:
            yield f"  ! {failure.table} {' '.join(failure.key)}: {failure.reason}"
    for table, count in counts.items():
        if count > most:
            yield f"  ! {table}: {count - most:,} more"
