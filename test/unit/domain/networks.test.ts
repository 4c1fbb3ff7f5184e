import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { isPublicAddress, publicNetworks } from '../../../src/domain/networks.ts';

const [ipv4, ipv6] = publicNetworks([]);

test('pods reach what URLs may lead to, and nothing else', () => {
  for (const network of [...(ipv4?.except ?? []), ...(ipv6?.except ?? [])])
    expect(isPublicAddress(network.split('/')[0] ?? ''), network).toBe(false);
  for (const address of [
    '::1',
    '64:ff9b::a00:1',
    'fc00::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '::ffff:10.0.0.1',
  ])
    expect(isPublicAddress(address), address).toBe(false);
  for (const address of ['1.1.1.1', '223.255.255.255', '2606:4700::1', '3fff::1'])
    expect(isPublicAddress(address), address).toBe(true);
  expect(ipv6?.cidr).toBe('2000::/3');
});

test('builds reach the same', () => {
  const text = readFileSync(new URL('../../../manifests/cloud.yaml', import.meta.url), 'utf8');
  interface Policy {
    kind: string;
    metadata: { name: string };
    spec: { egress: { to?: { ipBlock?: object }[] }[] };
  }
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Policy | null);
  const policy = objects.find(
    (object) => object?.kind === 'NetworkPolicy' && object.metadata.name === 'builds',
  );
  const blocks = policy?.spec.egress.flatMap(({ to }) => to ?? []).flatMap(({ ipBlock }) => ipBlock ?? []);
  expect(blocks).toEqual(publicNetworks([]));
});

test('what a platform closes is an exception of the one that it is part of', () => {
  const [of4, of6] = publicNetworks(['198.51.100.0/24', '52.0.0.0/16', '2600:1f00::/24', 'fd00::/8']);
  expect(of4?.except).toEqual([...(ipv4?.except ?? []), '52.0.0.0/16']);
  expect(of6?.except).toEqual([...(ipv6?.except ?? []), '2600:1f00::/24']);
});
