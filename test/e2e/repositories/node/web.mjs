// POST /?text=… adds a job for the worker. GET / returns the last result of the worker.
import { createServer } from 'node:http';
import { cache } from './cache.mjs';

const server = createServer(async (request, response) => {
  try {
    const text = new URL(request.url, 'http://app').searchParams.get('text');
    response.end(
      request.method === 'POST' ? await cache('RPUSH', 'jobs', text) : await cache('GET', 'result'),
    );
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
});
server.listen(Number(process.env.PORT));
process.once('SIGTERM', () => server.close());
