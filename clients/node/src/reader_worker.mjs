// Reads stdin in a thread of its own and posts the bytes; null is the end. The other thread waits for `posted` to
// change.
import fs from 'node:fs';
import net from 'node:net';
import { workerData } from 'node:worker_threads';

const { fd, posted, port } = workerData;

function post(bytes) {
  port.postMessage(bytes === null ? null : new Uint8Array(bytes));
  Atomics.add(posted, 0, 1);
  Atomics.notify(posted, 0);
}

// Through the event loop, not readSync: a thread inside read(2) could not be ended when the process exits.
function source() {
  const kind = fs.fstatSync(fd);
  if (kind.isFIFO() || kind.isSocket()) return new net.Socket({ fd, readable: true, writable: false });
  return fs.createReadStream('', { fd, autoClose: false });
}

source()
  .on('data', post)
  .on('end', () => post(null))
  .on('error', () => post(null));
