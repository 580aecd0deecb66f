"""Load on a web service from many connections: `load.py PORT CONNECTIONS`; it ends when the service does.

Prints how many requests were answered, once nobody answers any more.
"""

import http.client
import json
import random
import sys
import threading

answered = [0] * 64


def client(index, port, first):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    die = random.Random(index)
    while True:
        if die.random() < 0.7:
            currency = "XXX" if die.random() < 0.1 else "EUR"
            path, event = "/charge", {"user": f"u{index}", "currency": currency, "amount": die.randrange(50)}
        else:
            path, event = "/quote", {"item": f"item-{die.randrange(9)}"}
        try:
            connection.request("POST", path, json.dumps(event), {"content-type": "application/json"})
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            return
        assert response.status in (200, 404), response.status
        answered[index] += 1
        if not first.is_set():
            first.set()
            print("first", flush=True)


def main():
    port, connections = int(sys.argv[1]), int(sys.argv[2])
    first = threading.Event()
    threads = [threading.Thread(target=client, args=(index, port, first)) for index in range(connections)]
    for thread in threads:
        thread.start()
    sys.stdin.read()  # Told to stop, where the service lives on.
    print(sum(answered), flush=True)
    import os

    os._exit(0)


main()
