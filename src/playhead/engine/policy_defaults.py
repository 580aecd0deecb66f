"""The rules that are shipped: fields and shapes of credentials. Data, in versions that are never changed.

A tape names the version that shaped it, and a replay applies that one: what is shipped anew is a new version beside
the old ones. What is no credential (names, addresses, card numbers) is left to a project's own rules.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Shape(NamedTuple):
    """A shape of text, in the syntax of RE2. Where it has a group named `secret`, that part alone is hidden."""

    name: str
    match: str


class Shipped(NamedTuple):
    """One version of the shipped rules."""

    fields: tuple[str, ...]
    scrub: tuple[Shape, ...]


# Compared without case, hyphens and underscores, as all names of fields are.
_FIELDS_1: Final = (
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "api-key",
    "api-secret",
    "api-token",
    "x-api-token",
    "x-goog-api-key",
    "x-auth-token",
    "x-access-token",
    "x-csrf-token",
    "x-xsrf-token",
    "csrf-token",
    "x-amz-security-token",
    "x-vault-token",
    "x-gitlab-token",
    "private-token",
    "access-token",
    "refresh-token",
    "id-token",
    "auth-token",
    "bearer-token",
    "session-token",
    "security-token",
    "token",
    "jwt",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "client-secret",
    "secret-key",
    "private-key",
    "access-key",
    "secret-access-key",
    "aws-secret-access-key",
    "aws-session-token",
    "webhook-secret",
    "signing-secret",
    "encryption-key",
)

_SCRUB_1: Final = (
    Shape(
        "private key (PEM)",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?s:.*?)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?s:.*))",
    ),
    Shape(
        "authorization, in text",
        # With a scheme that is known: else each word behind a mask would be one more credential.
        r"(?i)\bauthorization['\"]?\s*[:=]\s*['\"]?"
        r"(?P<secret>(?:(?:bearer|basic|digest|token|apikey|negotiate)\s+)?[^\s'\",;]+)",
    ),
    Shape("bearer token, in text", r"(?i)\bbearer\s+(?P<secret>[a-z0-9._~+/-]{16,}=*)"),
    Shape("password in a URL", r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@?#]*:(?P<secret>[^\s/@?#]+)@"),
    Shape("JSON Web Token", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}"),
    Shape("AWS access key id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    Shape(
        "AWS secret access key, in text",
        r"(?i)aws_?secret_?access_?key['\"]?\s*[:=]\s*['\"]?(?P<secret>[a-z0-9/+=]{40})",
    ),
    Shape("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})"),
    Shape("GitLab token", r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_.-]{20,}"),
    Shape("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[0-9]-[A-Za-z0-9-]{10,}"),
    Shape("Slack webhook", r"\bhooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/-]{20,})"),
    Shape("Stripe key", r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/]{16,}=*"),
    Shape("Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
    Shape("Google OAuth", r"\bya29\.[A-Za-z0-9_.-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}"),
    Shape("Azure storage key", r"\bAccountKey=(?P<secret>[A-Za-z0-9+/]{40,}=*)"),
    Shape("Azure shared access signature", r"[?&]sig=(?P<secret>[A-Za-z0-9%+/=_-]{20,})"),
    Shape("npm token", r"\bnpm_[A-Za-z0-9]{36}"),
    Shape("PyPI token", r"\bpypi-[A-Za-z0-9_-]{40,}"),
    Shape("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    Shape("Twilio key", r"\bSK[0-9a-f]{32}\b"),
    Shape("model provider key", r"\bsk-(?:ant-|proj-|svcacct-|or-)[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{32,}"),
)

SHIPPED: Final = {1: Shipped(_FIELDS_1, _SCRUB_1)}
NEWEST: Final = max(SHIPPED)
