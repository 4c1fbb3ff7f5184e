import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resolveHost } from '../../../src/outbound/resolve-host.ts';

let folder: string;
let hostsFile: string;
/** A name server that never answers. */
const silent = createSocket('udp4');
let servers: string[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-dns-'));
  hostsFile = join(folder, 'hosts');
  writeFileSync(
    hostsFile,
    '127.0.0.1 localhost\n8.8.8.8\tpublic.example alias.example # other.example\n10.0.0.7 inside.example\n8.8.4.4 both.example\n52.0.1.2 cluster.example\n192.168.0.1 both.example\n',
  );
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
  servers = [`127.0.0.1:${silent.address().port}`];
});
afterAll(() => {
  silent.close();
  rmSync(folder, { recursive: true, force: true });
});

const closedNetworks: readonly string[] = ['52.0.0.0/16', '2600:1f00::/24'];
const look = (hostname: string, timeoutMs = 60_000) =>
  resolveHost(hostname, { allowPrivate: false, closedNetworks }, AbortSignal.timeout(timeoutMs), {
    hostsFile,
    servers,
  });

test.each(['public.example', 'alias.example', 'PUBLIC.example', 'public.example.'])(
  'the hosts file counts: %s',
  async (name) => {
    expect(await look(name)).toEqual([{ address: '8.8.8.8', family: 4 }]);
  },
);

test.each(['localhost', 'inside.example', 'both.example', 'cluster.example', '52.0.1.2', '[2600:1f00::7]'])(
  'a name with an address that is not public is refused: %s',
  async (name) => {
    await expect(look(name)).rejects.toMatchObject({ failure: 'closed_address' });
  },
);

test('name servers that do not answer hold none of the threads of the process', async () => {
  const { scrypt } = await import('node:crypto');
  let over = 0;
  const slow = Array.from({ length: 16 }, (_, n) =>
    look(`other-${n}.example`).then(
      () => undefined,
      (error: Error) => {
        over += 1;
        return error;
      },
    ),
  );
  // It needs such a thread.
  await promisify<string, string, number, Buffer>(scrypt)('a', 'b', 8);
  expect(over).toBe(0);
  for (const error of await Promise.all(slow))
    expect(error).toMatchObject({ failure: 'unresolved', code: 'ETIMEOUT' });
});

test('a lookup ends with the reason of the signal, before the name servers time out', async () => {
  const timedOut = look('other.example').catch((error: Error) => error);
  const ended = look('slow.example', 50).catch((error: Error) => error);
  expect(await Promise.race([timedOut, ended])).toMatchObject({ name: 'TimeoutError' });
  expect(await timedOut).toMatchObject({ code: 'ETIMEOUT' });
});

test('a literal address is checked without a lookup', async () => {
  expect(await look('8.8.8.8')).toEqual([{ address: '8.8.8.8', family: 4 }]);
  for (const closed of ['10.0.0.7', '[::1]', '[::ffff:7f00:1]', '[fe80::1]', '169.254.169.254'])
    await expect(look(closed), closed).rejects.toMatchObject({ failure: 'closed_address' });
});

test('private addresses are returned when they are allowed', async () => {
  const found = await resolveHost(
    'localhost',
    { allowPrivate: true, closedNetworks },
    AbortSignal.timeout(60_000),
  );
  expect(found).toContainEqual({ address: '127.0.0.1', family: 4 });
});

test('other addresses than those of the closed networks are returned', async () => {
  expect(await look('52.1.0.1')).toEqual([{ address: '52.1.0.1', family: 4 }]);
  expect(await look('[2600:2000::1]')).toEqual([{ address: '2600:2000::1', family: 6 }]);
});
