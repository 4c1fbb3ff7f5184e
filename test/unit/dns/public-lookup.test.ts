import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publicLookup } from '../../../src/dns/public-lookup.ts';

const refused = (hostname: string) => Object.assign(new Error(`refused ${hostname}`), { code: 'REFUSED' });

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
    '127.0.0.1 localhost\n8.8.8.8\tpublic.example alias.example # other.example\n10.0.0.7 inside.example\n8.8.4.4 both.example\n192.168.0.1 both.example\n',
  );
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
  servers = [`127.0.0.1:${silent.address().port}`];
});
afterAll(() => {
  silent.close();
  rmSync(folder, { recursive: true, force: true });
});

const lookUp = (hostname: string) =>
  new Promise((resolve, reject) => {
    publicLookup({ refused, hostsFile, servers })(hostname, { all: true }, (error, found) =>
      error === null ? resolve(found) : reject(error),
    );
  });

test.each(['public.example', 'alias.example', 'PUBLIC.example', 'public.example.'])(
  'resolves %s from the hosts file',
  async (name) => {
    expect(await lookUp(name)).toEqual([{ address: '8.8.8.8', family: 4 }]);
  },
);

test.each(['localhost', 'inside.example', 'both.example'])(
  'rejects %s, which has an address that is not public',
  async (name) => {
    await expect(lookUp(name)).rejects.toMatchObject({ code: 'REFUSED' });
  },
);

test('uses no thread of the process while name servers do not respond', async () => {
  const { scrypt } = await import('node:crypto');
  let over = 0;
  const slow = Array.from({ length: 16 }, (_, n) =>
    lookUp(`other-${n}.example`).then(
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
  for (const error of await Promise.all(slow)) expect(error).toMatchObject({ code: 'ENOTFOUND' });
});
