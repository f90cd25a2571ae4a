"""The temporal functions by canonical name, implemented in the other `temporal_` modules."""

from __future__ import annotations

from functools import partial

from twinframe.model.temporal.arithmetic import (
    measure_between,
    measure_days,
    measure_months,
    measure_seconds,
)
from twinframe.model.values import Value
from twinframe.query.evaluate.functions.declare import Function, strict
from twinframe.query.evaluate.functions.temporal_clock import read_real_clock, read_statement_clock
from twinframe.query.evaluate.functions.temporal_durations import build_duration_value, measure
from twinframe.query.evaluate.functions.temporal_truncation import truncate
from twinframe.query.evaluate.functions.temporal_values import (
    build_from_epoch,
    build_from_epoch_millis,
    build_instant,
)
from twinframe.query.evaluate.run import Run


def _define(kind: str) -> dict[str, Function]:
    def construct(run: Run, *arguments: Value) -> Value:
        if not arguments:
            return read_statement_clock(kind, run)
        return build_instant(kind, run, arguments[0])

    return {
        kind: construct,
        f"{kind}.transaction": partial(read_statement_clock, kind),
        f"{kind}.statement": partial(read_statement_clock, kind),
        f"{kind}.realtime": partial(read_real_clock, kind),
        f"{kind}.truncate": partial(truncate, kind),
    }


FUNCTIONS: dict[str, Function] = {
    **_define("date"),
    **_define("localtime"),
    **_define("time"),
    **_define("localdatetime"),
    **_define("datetime"),
    "datetime.fromEpoch": strict(build_from_epoch),
    "datetime.fromEpochMillis": strict(build_from_epoch_millis),
    "duration": strict(build_duration_value),
    "duration.between": measure("duration.between", measure_between),
    "duration.inMonths": measure("duration.inMonths", measure_months),
    "duration.inDays": measure("duration.inDays", measure_days),
    "duration.inSeconds": measure("duration.inSeconds", measure_seconds),
}
