"""The functions of an application that are recorded."""

import world


def work(user, effects):
    total = 0
    for _ in range(effects):
        total += world.fetch(user)["level"]
    return {"user": user, "total": total}
