"""Applying a difference, many objects at a time, and counting them: an error stops no other object."""

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

# Objects a request. Proxies before these servers wait for a minute (nginx, HAProxy), which a hundred cables may take.
_AT_FIRST, _AT_MOST, _WISHED_S = 25, 200, 15


class Failed(NamedTuple):
    """An object that the server refused, or that was not tried because an object that it refers to is missing."""

    table: str
    key: Key
    why: str


@dataclass
class Done:
    """Counts of made, changed and deleted objects by table, the refused ones, and the reason of an early end."""

    made: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)
    failed: list[Failed] = field(default_factory=list)
    stopped: str = ""


class _Item(NamedTuple):
    key: Key
    body: Any


def apply(server: ServerObjects, changes: ServerDifference, progress: Callable[[str], None]) -> Done:
    """Takes away, then makes and changes, table by table; ``progress`` hears of each table that is finished.

    A server that no longer answers ends it: ``stopped`` has the reason, and the counts cover the work until then.
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
            pass  # it is counted as made


def _items(
    server: ServerObjects, table: KeptTable, changes: Iterable[RowChange], done: Done, *, changing: bool
) -> list[_Item]:
    items: list[_Item] = []
    for change in changes:
        names = {field.name for field in change.fields} if change.record is not None else set(change.row.fields)
        try:
            body = {name: server.payload(value) for name, value in change.row.fields.items() if name in names}
            if change.record is not None and "tags" in body:
                body["tags"] += [identity_of(tag) for tag in change.record.get("tags") or ()]
            if changing:
                body["id"] = server.payload(Ref(table.amends or table.name, change.row.key))
        except NotThereError as missing:
            done.failed.append(Failed(table.name, change.row.key, f"not tried: {missing}"))
            continue
        items.append(_Item(change.row.key, body))
    return items


def _retried(
    server: ServerObjects, items: Sequence[_Item], send: Callable[[list[Any]], Any], done: Done, table: KeptTable,
    *, twice: bool = True,
) -> Iterator[tuple[Sequence[_Item], Any]]:  # fmt: skip
    """The batches; refused objects are sent once more at the end, when the obstacle may have moved."""
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
    """Sends the items, several requests at a time, and gives those that were taken with their answer.

    A request that is refused is halved until the objects stand alone that it was refused for. One without an answer is
    halved where sending it ``twice`` does no harm; where objects would be there twice, it ends everything.
    """
    waiting: deque[Sequence[_Item]] = deque([items] if items else [])
    asked: deque[tuple[Sequence[_Item], Future[tuple[float, Any]]]] = deque()
    at_a_time = _AT_FIRST
    stopped: ClusterwrightError | None = None
    while waiting or asked:
        while waiting and len(asked) < server.client.connections:
            batch = waiting.popleft()
            if len(batch) > at_a_time:
                waiting.appendleft(batch[at_a_time:])
                batch = batch[:at_a_time]
            asked.append((batch, server.client.pool.submit(_timed, send, [item.body for item in batch])))
        batch, answer = asked.popleft()
        try:
            seconds, refusals = answer.result()
            at_a_time = paced(len(batch), seconds, at_a_time)
            yield batch, refusals
        except (RefusedError, UnansweredError) as error:
            middle = len(batch) // 2
            if isinstance(error, UnansweredError) and not (twice and middle):
                stopped = stopped or error
            elif middle:
                waiting += [batch[:middle], batch[middle:]]
            else:
                done.failed.append(Failed(table.name, batch[0].key, str(error)))
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


def paced(sent: int, seconds: float, at_a_time: int) -> int:
    """The number of objects that the server handles in _WISHED_S, from the time that ``sent`` objects took."""
    wished = int(sent * _WISHED_S / max(seconds, 0.001))
    return max(1, min(wished, 2 * at_a_time, _AT_MOST))


def told_of(failed: Sequence[Failed], most: int) -> Iterator[str]:
    """Lines about failures, ``most`` of each table."""
    shown: dict[str, int] = defaultdict(int)
    for failure in failed:
        shown[failure.table] += 1
        if shown[failure.table] <= most:
            yield f"  ! {failure.table} {' '.join(failure.key)}: {failure.why}"
    for table, count in shown.items():
        if count > most:
            yield f"  ! {table}: {count - most:,} more"
