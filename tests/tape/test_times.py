"""Times as exact instants, against datetime and Fraction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from playhead.tape.times import Instant, TimeForm, parse_decimal, parse_rfc3339, parse_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _exactly(instant: Instant) -> Fraction:
    seconds, fraction = instant
    assert not fraction.endswith("0")
    return seconds + (Fraction(int(fraction), 10 ** len(fraction)) if fraction else Fraction(0))


_SAME = [
    ("2026-07-03T02:00:00+02:00", "2026-07-03T00:00:00Z"),
    ("2026-07-03T00:00:00Z", "2026-07-03T00:00:00.000Z"),
    ("2026-07-03t00:00:00z", "2026-07-02 23:59:60Z"),
    ("2026-07-03T00:00:00-00:00", "2026-07-03T00:00:00+00:00"),
    ("0000-02-29T00:00:00Z", "0000-02-28T23:59:60.0Z"),
    ("9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.0000000000000000000-23:59"),
]


@pytest.mark.parametrize(("one", "other"), _SAME)
def test_one_instant_has_many_texts(one: str, other: str) -> None:
    assert parse_rfc3339(one) == parse_rfc3339(other)


_ASCENDING = [
    "2026-07-02T23:59:59.999999Z",
    "2026-07-03T00:00:00Z",
    "2026-07-03T00:00:00.000000000000000000001Z",
    "2026-07-03T00:00:00.1Z",
    "2026-07-03T00:00:00.123456Z",
    "2026-07-03T00:00:00.2Z",
    "2026-07-02T23:00:01-01:00",
]


def test_fractions_compare_as_numbers_whatever_their_length() -> None:
    assert sorted(map(parse_rfc3339, reversed(_ASCENDING))) == [parse_rfc3339(text) for text in _ASCENDING]


_NO_TIMES: list[tuple[object, TimeForm]] = [
    ("2026-07-03", "rfc3339"),
    ("2026-07-03T00:00:00", "rfc3339"),
    ("2026-07-03T00:00Z", "rfc3339"),
    ("2026-07-03T00:00:00.Z", "rfc3339"),
    ("2026-07-03T00:00:00,5Z", "rfc3339"),
    ("2026-07-03T00:00:00Z\n", "rfc3339"),
    ("٢026-07-03T00:00:00Z", "rfc3339"),
    ("2026-13-03T00:00:00Z", "rfc3339"),
    ("2026-02-29T00:00:00Z", "rfc3339"),
    ("1900-02-29T00:00:00Z", "rfc3339"),
    ("2026-07-00T00:00:00Z", "rfc3339"),
    ("2026-07-03T24:00:00Z", "rfc3339"),
    ("2026-07-03T00:00:61Z", "rfc3339"),
    ("2026-07-03T00:00:00+24:00", "rfc3339"),
    ("2026-07-03T00:00:00+0200", "rfc3339"),
    (1783036800, "rfc3339"),
    (True, "epoch_s"),
    (None, "epoch_ms"),
    ([1], "epoch_ns"),
    ("1e9", "epoch_s"),
    ("+1", "epoch_s"),
    ("1_000", "epoch_s"),
    ("", "epoch_s"),
    ("1.", "epoch_s"),
    ("9" * 5000, "epoch_s"),
    ("0." + "1" * 5000, "epoch_s"),
    ("soon", "rfc3339_or_epoch_ms"),
]


@pytest.mark.parametrize(("value", "form"), _NO_TIMES)
def test_what_names_no_instant_is_refused(value: object, form: TimeForm) -> None:
    with pytest.raises(ValueError, match=r"not|number|RFC 3339"):
        parse_time(value, form)  # type: ignore[arg-type]


_FORMS: list[tuple[object, TimeForm, Fraction]] = [
    (1783036800, "epoch_s", Fraction(1783036800)),
    ("1783036801.000200", "epoch_s", Fraction("1783036801.0002")),
    (1783036801.0002, "epoch_s", Fraction("1783036801.0002")),
    (1783036800123, "epoch_ms", Fraction("1783036800.123")),
    ("1783036802000000001", "epoch_ns", Fraction("1783036802.000000001")),
    (1783036802000000001, "epoch_ns", Fraction("1783036802.000000001")),
    (-1, "epoch_ms", Fraction("-0.001")),
    ("-0.5", "epoch_s", Fraction("-0.5")),
    (0, "epoch_s", Fraction(0)),
    (-0.0, "epoch_s", Fraction(0)),
    (1e-7, "epoch_s", Fraction(1, 10**7)),
    (1e300, "epoch_ms", Fraction(10**297)),
    ("2026-07-03T00:00:00.5Z", "rfc3339_or_epoch_ms", Fraction("1783036800.5")),
    ("1783036800500", "rfc3339_or_epoch_ms", Fraction("1783036800.5")),
    (1783036800500, "rfc3339_or_epoch_ms", Fraction("1783036800.5")),
]


@pytest.mark.parametrize(("value", "form", "seconds"), _FORMS)
def test_every_form_gives_exact_seconds(value: object, form: TimeForm, seconds: Fraction) -> None:
    assert _exactly(parse_time(value, form)) == seconds  # type: ignore[arg-type]


@given(
    st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)),
    st.integers(-1439, 1439),
    st.text("0123456789", min_size=1, max_size=30),
)
@example(datetime(2024, 2, 29), 0, "0")
def test_rfc3339_agrees_with_datetime(moment: datetime, offset_minutes: int, fraction: str) -> None:
    zone = timezone(timedelta(minutes=offset_minutes))
    moment = moment.replace(microsecond=0, tzinfo=zone)
    sign = "-" if offset_minutes < 0 else "+"
    hours, minutes = divmod(abs(offset_minutes), 60)
    text = f"{moment:%Y}".zfill(4) + f"{moment:-%m-%dT%H:%M:%S}.{fraction}{sign}{hours:02}:{minutes:02}"
    whole = (moment - _EPOCH) // timedelta(seconds=1)
    assert _exactly(parse_rfc3339(text)) == whole + Fraction(int(fraction), 10 ** len(fraction))


_decimals = st.from_regex(r"-?[0-9]{1,30}(\.[0-9]{1,30})?", fullmatch=True).filter(str.isascii)


@given(_decimals, _decimals, st.sampled_from([0, 3, 9]))
def test_decimals_agree_with_fraction_in_value_and_order(one: str, other: str, digits: int) -> None:
    a, b = parse_decimal(one, digits=digits), parse_decimal(other, digits=digits)
    exact_a, exact_b = Fraction(one) / 10**digits, Fraction(other) / 10**digits
    assert (_exactly(a), _exactly(b)) == (exact_a, exact_b)
    assert (a < b, a == b) == (exact_a < exact_b, exact_a == exact_b)
