"""A small web service: POST /charge and POST /quote. Prints its port, then serves until it is killed."""

import asyncio
import json
import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import handlers
import uvicorn
from playhead_client.attach import attach
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

recorder = attach(out=os.environ["FLIGHT"], daemon=json.loads(os.environ["DAEMON"]))
charge = recorder.wrap("charge", handlers.charge)
quote = recorder.wrap("quote", handlers.quote)
pool = ThreadPoolExecutor(4)


async def post_charge(request):
    event = await request.json()
    try:
        return JSONResponse(await charge(event))
    except LookupError as error:
        return JSONResponse({"error": str(error)}, status_code=404)


async def post_quote(request):
    event = await request.json()
    # From threads, beside the calls of the event loop.
    return JSONResponse(await asyncio.get_running_loop().run_in_executor(pool, quote, event))


routes = [Route("/charge", post_charge, methods=["POST"]), Route("/quote", post_quote, methods=["POST"])]
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
config = uvicorn.Config(Starlette(routes=routes), log_level="error", access_log=False, lifespan="off")
uvicorn.Server(config).run(sockets=[listening])
sys.exit(0)
