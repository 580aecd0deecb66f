"""An event as a service would handle one: the time, a draw, an answer of some 300 bytes from outside."""


def account(number):
    return {
        "account": f"acct_{number:08d}",
        "owner": {"name": "Ada Example", "mail": f"ada+{number}@example.com", "since": 1546300800000},
        "balance": {"amount": 100000 + number, "currency": "EUR", "pending": [250, 1999, 12050]},
        "limits": {"daily": 500000, "single": 100000},
        "flags": ["verified", "two-factor", "europe"],
        "note": "opened in person, papers seen",
    }


def handler(event, ctx):
    at = ctx.now()
    sampled = ctx.random() < 0.2
    found = ctx.respond("account", lambda: account(event["n"]))
    return {"at": at, "sampled": sampled, "ok": found["balance"]["amount"] >= event["amount"]}
