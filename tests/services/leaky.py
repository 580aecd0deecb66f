"""An application that lets a secret out wherever it can. `attach`: recorded there; as a handler: under the daemon."""

import base64
import os
import sys
import urllib.parse

SECRET = os.environ["SECRET"]


def login(event, ctx):
    answer = ctx.respond("auth.login", lambda: {"user": 42, "token": SECRET})
    token = answer["token"]
    ctx.respond(f"audit/{token}", lambda: {token: True}, args=[f"logged in with {token}"], kwargs={"by": token})
    ctx.respond("headers", lambda: [["Authorization", f"Bearer {token}"], {"name": "token", "value": token}])
    ctx.note("logged in", header=f"Bearer {token}")
    print(f"stderr: {token}", file=sys.stderr, flush=True)
    if event.get("raise"):
        raise PermissionError(f"{token} was refused")
    if event.get("die"):
        os._exit(3)
    output = {"greeting": f"hello, {token}", token: "as a key", "said": f'{{"token": "{token}"}}'}
    if event.get("compute"):
        # Made of the value itself: a replay, which has the mask alone, makes something else.
        output["query"] = f"a=1&token={urllib.parse.quote(token, safe='')}"
        output["basic"] = base64.b64encode(token.encode()).decode()
    return output


functions = {"login": login}

if __name__ == "__main__":
    from playhead_client.attach import attach

    daemon = [sys.executable, "-m", "playhead", "serve"]
    recorder = attach(out=sys.argv[1], daemon=daemon, policy=sys.argv[2], log=f"{sys.argv[1]}.log")
    recorded = recorder.wrap("login", login)
    greeting = recorded({"try": 1, "compute": True})["greeting"]
    assert greeting == f"hello, {SECRET}", "the application has its live values"
    try:
        recorded({"try": 2, "raise": True})
    except PermissionError as error:
        assert SECRET in str(error)
    recorded({"try": 3, "password": SECRET})
    recorder.close()
