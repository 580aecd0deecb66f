// JSON-RPC 2.0 messages as texts: built from ready-made pieces, read with JSON.parse. No state.

export const PROTOCOL = 1;

export const CODE = Object.freeze({
  PARSE: -32700,
  INVALID_REQUEST: -32600,
  UNKNOWN_METHOD: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL: -32603,
  VERSION: -32001,
  NOT_INITIALIZED: -32002,
});

/** The message in a frame, or null where the frame is not one JSON object with "jsonrpc": "2.0". Throws SyntaxError. */
export function parse(text) {
  const message = JSON.parse(text);
  return message !== null && typeof message === 'object' && message.jsonrpc === '2.0' ? message : null;
}

/** `rest` is the text of more members, each with its comma in front. */
export function ask(id, method, call, number, rest) {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{"call":${call},"ask":${number}${rest}}}\n`;
}

export function notification(method, call, rest) {
  return `{"jsonrpc":"2.0","method":"${method}","params":{"call":${call}${rest}}}\n`;
}

/** `items` are texts of asks, with commas between them. */
export function askedOf(call, items) {
  return `{"jsonrpc":"2.0","method":"asked","params":{"call":${call},"asks":[${items}]}}\n`;
}

/** `value` is JSON text. An id goes back exactly as it came. */
export function result(id, value) {
  return `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"result":${value}}\n`;
}

export function failure(id, code, message, data) {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } }) + '\n';
}
