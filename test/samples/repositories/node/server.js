import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const page = existsSync('page.html') ? readFileSync('page.html', 'utf8') : '<h1>Hello from Node</h1>\n';

const server = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.end(page);
});
server.listen(Number(process.env.PORT ?? 8000), '0.0.0.0');
process.once('SIGTERM', () => server.close());
