import type { ChildProcess } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';

const END_OF_HEAD = '\r\n\r\n';

/** Connects a request with a CGI program (RFC 3875, section 6). */
export function answerAsCgi(program: ChildProcess, request: IncomingMessage, response: ServerResponse): void {
  const { stdin, stdout } = program;
  if (!stdin || !stdout) throw new Error('the program has no standard input or output');
  program.once('error', () => response.writeHead(500).end());
  stdin.on('error', () => {});
  request.pipe(stdin);
  response.once('close', () => program.kill());
  let head = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf(END_OF_HEAD);
    if (end < 0) return;
    stdout.off('data', onData);
    writeHead(response, head.subarray(0, end).toString('latin1'));
    response.write(head.subarray(end + END_OF_HEAD.length));
    stdout.pipe(response);
  };
  stdout.on('data', onData);
  stdout.once('end', () => {
    if (!response.headersSent) response.writeHead(500).end();
  });
}

function writeHead(response: ServerResponse, head: string): void {
  let status = 200;
  for (const line of head.split('\r\n')) {
    const [name = '', ...value] = line.split(':');
    const text = value.join(':').trim();
    if (name.toLowerCase() === 'status') status = Number.parseInt(text, 10);
    else response.setHeader(name, text);
  }
  response.writeHead(status);
}
