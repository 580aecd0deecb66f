"""Where well-known logs keep their records, ids, times and payloads: one table of data, read by `sources` and the docs.

A row is chosen by the first record of a file, never by the file's name. The order of the rows is the order in which
they are tried, so that a special shape stands before the general one. Nothing here changes an event: the event is the
whole record, and only `--select payload` uses a row's payload.

Pointers are RFC 6901; in `records_at` and `parents` a `*` stands for every element of an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from playhead.tape.times import TimeForm

ValueType = Literal["string", "number", "boolean", "null", "array", "object"]


@dataclass(frozen=True, slots=True)
class Needs:
    """Something must stand at `at` (a selection), of one of `types` and equal to one of `equals` if given."""

    at: str
    types: tuple[ValueType, ...] = ()
    equals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceShape:
    """One kind of log.

    name         what `--source` takes
    title        what writes such a log
    when         what a record must have to be recognised
    enclosing    what a value must have to be a container of records instead of a record
    records_at   where a container has its records
    id           pointers that together name a record; all must be there
    dedupe       pointers that together name what may be delivered again under another id
    time         pointer to the time a record is ordered by, and the form it has there
    payload      pipelines, of which the first that finds something is the payload; empty: a record carries none
    parents      members of a container that belong to its records: `--select payload` adds them under these names
    headers      where what is not payload stands, for the docs
    file_order   the order in which such a log is written, for the docs
    notes        what surprises, for the docs
    """

    name: str
    title: str
    when: tuple[Needs, ...] = ()
    enclosing: tuple[Needs, ...] = ()
    records_at: str | None = None
    id: tuple[str, ...] = ()
    dedupe: tuple[str, ...] = ()
    time: str | None = None
    time_form: TimeForm | None = None
    payload: tuple[str, ...] = ("",)
    parents: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    headers: str | None = None
    file_order: str = "arrival"
    notes: str = ""


_STRING: Final[tuple[ValueType, ...]] = ("string",)
_NUMBER: Final[tuple[ValueType, ...]] = ("number",)
_OBJECT: Final[tuple[ValueType, ...]] = ("object",)
_ARRAY: Final[tuple[ValueType, ...]] = ("array",)

WEBHOOK_FIXTURES: Final = SourceShape(
    name="webhook-fixtures",
    title="captured webhook deliveries: {id?, headers?, receivedAt, payload}",
    when=(Needs("/receivedAt", ("string", "number")), Needs("/payload")),
    id=("/id",),
    time="/receivedAt",
    time_form="rfc3339_or_epoch_ms",
    payload=("/payload",),
    headers="/headers",
    file_order="any",
    notes="A JSON array of these, and nothing else, is ordered by receivedAt and the event is the payload. "
    "One a line, they are a log like any other: file order, whole records.",
)

EVENTS: Final = SourceShape(
    name="events",
    title="anything else: each record is an event",
    payload=(),
    file_order="any",
    notes="Nothing is known of ids, times or payloads: no repeats are reported, --order time is refused.",
)

_ROWS: Final = (
    WEBHOOK_FIXTURES,
    SourceShape(
        name="stripe",
        title="stripe listen --print-json, stripe events list, GET /v1/events",
        when=(
            Needs("/object", equals=("event",)),
            Needs("/id", _STRING),
            Needs("/created", _NUMBER),
            Needs("/data/object", _OBJECT),
        ),
        enclosing=(Needs("/object", equals=("list",)), Needs("/data", _ARRAY)),
        records_at="/data/*",
        id=("/id",),
        time="/created",
        time_form="epoch_s",
        payload=("/data/object",),
        file_order="listen: arrival; list: newest first",
        notes="listen prints pretty-printed values one after another, not JSONL; no headers and no signature.",
    ),
    SourceShape(
        name="github-delivery",
        title="GET /repos/{owner}/{repo}/hooks/{hook}/deliveries/{delivery}, one record each",
        when=(
            Needs("/guid", _STRING),
            Needs("/delivered_at", _STRING),
            Needs("/status_code", _NUMBER),
            Needs("/request/payload"),
        ),
        id=("/id",),
        dedupe=("/guid",),
        time="/delivered_at",
        time_form="rfc3339",
        payload=("/request/payload",),
        headers="/request/headers",
        file_order="any",
        notes="A redelivery has a new id and the same guid. Times have whole seconds, so ties are common.",
    ),
    SourceShape(
        name="github-deliveries",
        title="GET /repos/{owner}/{repo}/hooks/{hook}/deliveries",
        when=(Needs("/guid", _STRING), Needs("/delivered_at", _STRING), Needs("/status_code", _NUMBER)),
        id=("/id",),
        dedupe=("/guid",),
        time="/delivered_at",
        time_form="rfc3339",
        payload=(),
        file_order="newest first",
        notes="The list carries no payloads: fetch each delivery by its id.",
    ),
    SourceShape(
        name="shopify-raw-body",
        title="Shopify webhook requests, one a line, with the body as the text that was received",
        when=(Needs("/headers/X-Shopify-Topic", _STRING), Needs("/receivedAt"), Needs("/body", _STRING)),
        id=("/headers/X-Shopify-Webhook-Id",),
        dedupe=("/headers/X-Shopify-Event-Id",),
        time="/receivedAt",
        time_form="rfc3339_or_epoch_ms",
        payload=("/body | json",),
        headers="/headers",
        file_order="any",
        notes="Only the text as received can be checked against the HMAC header.",
    ),
    SourceShape(
        name="shopify",
        title="Shopify webhook requests, one a line",
        when=(Needs("/headers/X-Shopify-Topic", _STRING), Needs("/receivedAt"), Needs("/body", _OBJECT)),
        id=("/headers/X-Shopify-Webhook-Id",),
        dedupe=("/headers/X-Shopify-Event-Id",),
        time="/receivedAt",
        time_form="rfc3339_or_epoch_ms",
        payload=("/body",),
        headers="/headers",
        file_order="any",
        notes="Ids are integers above 2^53; they are kept exactly.",
    ),
    SourceShape(
        name="slack",
        title="Slack Events API requests, one a line: {ts, headers, body}",
        when=(Needs("/headers/X-Slack-Request-Timestamp"), Needs("/body/type", _STRING)),
        id=("/body/event_id",),
        time="/body/event/event_ts",
        time_form="epoch_s",
        payload=("/body/event", "/body"),
        headers="/headers",
        notes="The handshake (url_verification) has no event, id or time; its payload is its body. "
        "A retry has the event_id of the first try. event_ts is a decimal string of seconds.",
    ),
    SourceShape(
        name="svix",
        title="GET /api/v1/app/{app}/attempt/endpoint/{endpoint}?with_msg=true",
        when=(Needs("/msgId", _STRING), Needs("/endpointId", _STRING), Needs("/timestamp", _STRING)),
        enclosing=(Needs("/data", _ARRAY), Needs("/iterator"), Needs("/done", ("boolean",))),
        records_at="/data/*",
        id=("/id",),
        dedupe=("/msgId",),
        time="/timestamp",
        time_form="rfc3339",
        payload=("/msg/payload",),
        file_order="newest first",
        notes="Several attempts for one message are several records. Payloads are there only with with_msg=true.",
    ),
    SourceShape(
        name="cloudevents",
        title="CloudEvents 1.0 in structured mode, as a batch or one a line",
        when=(
            Needs("/specversion", _STRING),
            Needs("/id", _STRING),
            Needs("/source", _STRING),
            Needs("/type", _STRING),
        ),
        id=("/source", "/id"),
        time="/time",
        time_form="rfc3339",
        payload=("/data", "/data_base64"),
        headers="all other attributes",
        file_order="any",
        notes="time is optional. data_base64 stays base64, since JSON carries no bytes: "
        "--select '/data_base64 | base64' if it is text.",
    ),
    SourceShape(
        name="eventbridge",
        title="EventBridge events, one a line",
        when=(Needs("/detail-type", _STRING), Needs("/source", _STRING), Needs("/time", _STRING), Needs("/detail")),
        id=("/id",),
        time="/time",
        time_form="rfc3339",
        payload=("/detail",),
        headers="the other members",
        file_order="any",
        notes="Times have whole seconds, so ties are common.",
    ),
    SourceShape(
        name="eventbridge-log",
        title="aws logs filter-log-events of an EventBridge rule's log group",
        when=(
            Needs("/eventId", _STRING),
            Needs("/timestamp", _NUMBER),
            Needs("/message | json | /detail-type", _STRING),
        ),
        enclosing=(Needs("/events", _ARRAY),),
        records_at="/events/*",
        id=("/eventId",),
        time="/timestamp",
        time_form="epoch_ms",
        payload=("/message | json | /detail",),
        notes="timestamp is when the log took the event; the event's own time is inside message, JSON in a string.",
    ),
    SourceShape(
        name="cloudwatch-logs",
        title="aws logs filter-log-events",
        when=(Needs("/eventId", _STRING), Needs("/timestamp", _NUMBER), Needs("/message", _STRING)),
        enclosing=(Needs("/events", _ARRAY),),
        records_at="/events/*",
        id=("/eventId",),
        time="/timestamp",
        time_form="epoch_ms",
        payload=("/message",),
        notes="--select '/message | json' where the program logs JSON.",
    ),
    SourceShape(
        name="cloudtrail",
        title="a CloudTrail log file, unpacked",
        when=(
            Needs("/eventVersion", _STRING),
            Needs("/eventTime", _STRING),
            Needs("/eventName", _STRING),
            Needs("/eventID", _STRING),
        ),
        enclosing=(Needs("/Records", _ARRAY),),
        records_at="/Records/*",
        id=("/eventID",),
        time="/eventTime",
        time_form="rfc3339",
        file_order="any",
        notes="The whole file is one object on one line: it looks like JSONL of one record and is not.",
    ),
    SourceShape(
        name="otlp-logs",
        title="OpenTelemetry logs as the file exporter writes them: LogsData, one a line",
        enclosing=(Needs("/resourceLogs", _ARRAY),),
        records_at="/resourceLogs/*/scopeLogs/*/logRecords/*",
        time="/timeUnixNano",
        time_form="epoch_ns",
        parents=MappingProxyType(
            {"resource": "/resourceLogs/*/resource", "scope": "/resourceLogs/*/scopeLogs/*/scope"}
        ),
        file_order="any",
        notes="One line is several events. The payload is the record with the resource and scope it stands under. "
        "Nanoseconds are decimal strings beyond 2^53.",
    ),
    SourceShape(
        name="k8s-audit",
        title="kube-apiserver --audit-log-format=json, or the EventList its webhook posts",
        when=(
            Needs("/kind", equals=("Event",)),
            Needs("/apiVersion", equals=("audit.k8s.io/v1", "audit.k8s.io/v1beta1")),
            Needs("/auditID", _STRING),
            Needs("/stage", _STRING),
        ),
        enclosing=(Needs("/kind", equals=("EventList",)), Needs("/items", _ARRAY)),
        records_at="/items/*",
        id=("/auditID", "/stage"),
        dedupe=("/auditID",),
        time="/stageTimestamp",
        time_form="rfc3339",
        file_order="almost by time",
        notes="One request gives a record for each stage it reaches, all with one auditID.",
    ),
    SourceShape(
        name="kcat",
        title="kcat -C -J",
        when=(
            Needs("/topic", _STRING),
            Needs("/partition", _NUMBER),
            Needs("/offset", _NUMBER),
            Needs("/payload"),
        ),
        id=("/topic", "/partition", "/offset"),
        time="/ts",
        time_form="epoch_ms",
        payload=("/payload",),
        headers="/headers",
        file_order="arrival, ordered within a partition only",
        notes="The payload is text, null for a tombstone: --select '/payload | json' where every payload is JSON. "
        "ts may go backwards within a partition, which --order time then takes apart. "
        "kcat does not check UTF-8; binary payloads are refused with their line.",
    ),
    EVENTS,
)

SOURCES: Final[Mapping[str, SourceShape]] = MappingProxyType({row.name: row for row in _ROWS})
"""The table by name, in the order in which the rows are tried."""
