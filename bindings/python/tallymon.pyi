"""Performance counters: read any, publish your own, open logs as tables."""

import datetime
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Final, final

@final
class CounterSet:
    """A set of counters, declared once. Readers see it as an object."""

    def __new__(cls, name: str, *, help: str | None = None, instances: bool = False) -> CounterSet: ...
    def counter(
        self,
        name: str,
        counter_type: int,
        *,
        help: str | None = None,
        unit: str | None = None,
        scale: int = 0,
        shared: bool = False,
    ) -> CounterSet: ...
    def text(self, name: str, most: int = 64) -> CounterSet: ...
    def histogram(
        self,
        name: str,
        *,
        time: bool = False,
        most: int | None = None,
        bits: int = 4,
        percentiles: Sequence[float] | None = None,
    ) -> CounterSet: ...
    def together(self, counters: Sequence[tuple[str, int]]) -> CounterSet: ...
    def words(
        self, language: str, *, name: str | None = None, help: str | None = None, unit: str | None = None
    ) -> CounterSet: ...

@final
class Publisher:
    """Publishes counter sets as long as the publisher, or anything created from it, exists."""

    def __new__(cls, name: str, sets: Sequence[CounterSet]) -> Publisher: ...
    @property
    def path(self) -> str: ...
    def keep_last_values(self) -> None: ...
    def instance(
        self, set: str, name: str | None = None, *, id: int | None = None, parent: Instance | None = None
    ) -> Instance: ...

@final
class Instance:
    """An instance of a published set."""

    def __getitem__(self, name: str) -> Counter: ...
    def close(self) -> None: ...
    def __enter__(self) -> Instance: ...
    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None: ...

@final
class Counter:
    """The writer of a counter."""

    value: int
    def add(self, n: int = 1) -> None: ...
    def start_time(self) -> None: ...
    def set_text(self, text: str) -> None: ...
    def record(self, value: int) -> None: ...
    def record_time(self, seconds: float) -> None: ...
    def set_all(self, values: Sequence[int]) -> None: ...
    def add_all(self, values: Sequence[int]) -> None: ...

@final
class Query:
    """Counters by path, read together any number of times: of this machine, of `host`, or of the machine that the first
    path names."""

    def __new__(cls, host: str | None = None, *, timeout: float = 10.0) -> Query: ...
    def add(self, path: str) -> int: ...
    def collect(self) -> None: ...
    def readings(self) -> list[Reading]: ...
    def values(self) -> dict[str, float | int | str | None]: ...

@final
class Reading:
    """The value of a counter at the last collection, or the reason why there is none."""

    @property
    def handle(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def value(self) -> float | int | str | None: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def stale(self) -> bool: ...
    @property
    def counter_type(self) -> int: ...
    @property
    def raw(self) -> tuple[int, int] | None: ...

@final
class Log:
    """The records of performance logs as a table. It has Arrow's PyCapsule interface: no value is copied."""

    @property
    def paths(self) -> list[str]: ...
    @property
    def times(self) -> list[int]: ...
    @property
    def not_found(self) -> list[str]: ...
    @property
    def damage(self) -> list[str]: ...
    @property
    def remarks(self) -> list[str]: ...
    def missing(self, path: str) -> dict[str, int]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, path: str) -> list[float | None] | list[int | None] | list[str | None]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

def read_log(
    *paths: str | os.PathLike[str],
    counters: Sequence[str] | None = None,
    start: str | datetime.datetime | None = None,
    end: str | datetime.datetime | None = None,
    every: int = 1,
    cap: bool = False,
    code_page: str | None = None,
) -> Log: ...

PERF_100NSEC_MULTI_TIMER: Final[int]
PERF_100NSEC_MULTI_TIMER_INV: Final[int]
PERF_100NSEC_TIMER: Final[int]
PERF_100NSEC_TIMER_INV: Final[int]
PERF_AVERAGE_BASE: Final[int]
PERF_AVERAGE_BULK: Final[int]
PERF_AVERAGE_TIMER: Final[int]
PERF_COUNTER_100NS_QUEUELEN_TYPE: Final[int]
PERF_COUNTER_BULK_COUNT: Final[int]
PERF_COUNTER_COUNTER: Final[int]
PERF_COUNTER_DELTA: Final[int]
PERF_COUNTER_HISTOGRAM_TYPE: Final[int]
PERF_COUNTER_LARGE_DELTA: Final[int]
PERF_COUNTER_LARGE_QUEUELEN_TYPE: Final[int]
PERF_COUNTER_LARGE_RAWCOUNT: Final[int]
PERF_COUNTER_LARGE_RAWCOUNT_HEX: Final[int]
PERF_COUNTER_MULTI_BASE: Final[int]
PERF_COUNTER_MULTI_TIMER: Final[int]
PERF_COUNTER_MULTI_TIMER_INV: Final[int]
PERF_COUNTER_NODATA: Final[int]
PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE: Final[int]
PERF_COUNTER_QUEUELEN_TYPE: Final[int]
PERF_COUNTER_RAWCOUNT: Final[int]
PERF_COUNTER_RAWCOUNT_HEX: Final[int]
PERF_COUNTER_TEXT: Final[int]
PERF_COUNTER_TIMER: Final[int]
PERF_COUNTER_TIMER_INV: Final[int]
PERF_DOUBLE_RAW: Final[int]
PERF_ELAPSED_TIME: Final[int]
PERF_LARGE_RAW_BASE: Final[int]
PERF_LARGE_RAW_FRACTION: Final[int]
PERF_OBJ_TIME_TIMER: Final[int]
PERF_PRECISION_100NS_TIMER: Final[int]
PERF_PRECISION_OBJECT_TIMER: Final[int]
PERF_PRECISION_SYSTEM_TIMER: Final[int]
PERF_PRECISION_TIMESTAMP: Final[int]
PERF_RAW_BASE: Final[int]
PERF_RAW_FRACTION: Final[int]
PERF_SAMPLE_BASE: Final[int]
PERF_SAMPLE_COUNTER: Final[int]
PERF_SAMPLE_FRACTION: Final[int]
TALLYMON_VALUE_STATUS: Final[int]
