import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createDnsClient } from '../../../src/outbound/dns-client.ts';
import { type DnsServer, startDnsServer } from '../../dns-server.ts';

let server: DnsServer;
beforeAll(async () => {
  server = await startDnsServer();
});
afterAll(() => server.stop());
beforeEach(() => server.behave('normal'));

const client = (timeoutMs = 5_000) => createDnsClient({ servers: [server.address], timeoutMs });
const { signal } = new AbortController();

test('returns the addresses of both families, and follows an alias', async () => {
  server.set('A', 'edge.example.com', ['203.0.113.9', '203.0.113.7']);
  server.set('AAAA', 'edge.example.com', ['2001:db8::7']);
  server.set('CNAME', 'shop.example.com', ['edge.example.com']);
  const expected = ['2001:db8:0:0:0:0:0:7', '2001:db8::7', '203.0.113.7', '203.0.113.9'];
  for (const name of ['edge.example.com', 'shop.example.com']) {
    const found = await client().addresses(name, signal);
    expect(found).toHaveLength(3);
    for (const address of found ?? []) expect(expected).toContain(address);
  }
});

test('returns no addresses for a name that does not exist, and for one without addresses', async () => {
  server.set('TXT', 'text.example.com', ['something']);
  expect(await client().addresses('missing.example.com', signal)).toEqual([]);
  expect(await client().addresses('text.example.com', signal)).toEqual([]);
  expect(await client().texts('missing.example.com', signal)).toEqual([]);
});

test('joins the parts of a long text', async () => {
  const long = 'x'.repeat(300);
  server.set('TXT', '_berth-challenge.shop.example.com', ['other', long]);
  expect(await client().texts('_berth-challenge.shop.example.com', signal)).toEqual(['other', long]);
});

test('returns null when the server answers with an error, or does not answer in time', async () => {
  server.set('A', 'shop.example.com', ['203.0.113.7']);
  server.behave('failing');
  expect(await client().addresses('shop.example.com', signal)).toBeNull();
  server.behave('silent');
  const started = Date.now();
  expect(await client(300).texts('shop.example.com', signal)).toBeNull();
  expect(Date.now() - started).toBeLessThan(3_000);
});

test('ends at once when the signal fires', async () => {
  server.behave('silent');
  const stopping = new AbortController();
  const asked = client().addresses('shop.example.com', stopping.signal);
  stopping.abort(new Error('stopped'));
  await expect(asked).rejects.toThrow('stopped');
});
