// A client of Redis for one command, which returns the last line of the reply.
import { connect } from 'node:net';

export function cache(...words) {
  const { hostname, port } = new URL(process.env.CACHE_URI);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.once('error', reject);
    socket.once('data', (reply) => {
      socket.end();
      resolve(reply.toString().split('\r\n').at(-2));
    });
    socket.write(`*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`);
  });
}
