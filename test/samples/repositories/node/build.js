// What a bundler would do: makes the page that the server sends.
import { writeFileSync } from 'node:fs';

writeFileSync('page.html', `<h1>Hello from Node</h1>\n<p>Built on ${new Date().toISOString()}.</p>\n`);
