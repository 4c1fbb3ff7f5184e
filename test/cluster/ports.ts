import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the ephemeral ranges of Linux (32768–60999) and macOS (49152–65535), so that an outgoing connection of another program
// never takes the port of a component that is being restarted.
const LOWEST = 20_000;
const HIGHEST = 32_000;

/** `count` different TCP ports that are free on 127.0.0.1. The caller must handle a port that another program takes meanwhile. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > 1000) throw new Error(`failed to find ${count} free ports between ${LOWEST} and ${HIGHEST}`);
    const port = randomInt(LOWEST, HIGHEST);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Whether the end of a log says that another program has taken the port. */
export function isPortTaken(log: string): boolean {
  return /address already in use|could not bind|failed to create listener/i.test(log);
}
