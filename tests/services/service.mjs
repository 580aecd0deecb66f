// A small web service: POST /charge and POST /quote. Prints its port, then serves until it is killed.
import http from 'node:http';
import { attach } from '../../clients/node/index.mjs';
import { functions } from './handlers.mjs';

const recorder = attach({ out: process.env.FLIGHT, daemon: JSON.parse(process.env.DAEMON) });
const routes = {
  '/charge': recorder.wrap('charge', functions.charge),
  '/quote': recorder.wrap('quote', functions.quote),
};

const server = http.createServer(async (request, response) => {
  let text = '';
  for await (const chunk of request) text += chunk;
  try {
    const answer = await routes[request.url](JSON.parse(text));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  } catch (error) {
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: error.message }));
  }
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
