"""The handler of incident-4211 and the ways in which protocol/vectors/tape/recordings/expected.json changes it.

The environment's VARIANT says which. variants.mjs is the same in another language.
"""

import os

VARIANT = os.environ["VARIANT"]


def handler(event, ctx):
    received_at = 0 if VARIANT == "live_clock" else ctx.now()
    if VARIANT == "clock_twice":
        ctx.now()
    limit = 0.3 if VARIANT == "sampling_0.3" else 0.2
    sampled = False if VARIANT == "no_random" else ctx.random() < limit
    if VARIANT == "random_twice":
        ctx.random()
    balance = ctx.respond("account.balance", lambda: 1000 - event["amount"])
    if VARIANT == "respond_twice":
        ctx.respond("account.balance", lambda: 1000 - event["amount"])
    if VARIANT == "new_key":
        ctx.respond("account.limit", lambda: 5000)
    approved = balance > 0 if VARIANT == "approval_gt_0" else balance >= 0
    output = {"receivedAt": received_at, "sampled": sampled, "approved": approved, "balance": balance}
    return SHAPES.get(VARIANT, lambda output, ctx: output)(output, ctx)


SHAPES = {
    "key_order": lambda output, ctx: dict(reversed(output.items())),
    "float_form": lambda output, ctx: {**output, "balance": float(output["balance"])},
    "extra_field": lambda output, ctx: {**output, "version": 2},
    "missing_field": lambda output, ctx: {name: output[name] for name in output if name != "balance"},
    "null_output": lambda output, ctx: None,
    "uses_seq": lambda output, ctx: {**output, "seq": ctx.seq},
}
