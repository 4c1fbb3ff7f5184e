import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { repositoryUrlSchema } from '../../../../src/domain/net/https-url.ts';
import { isProviderNetwork, isPublicAddress, publicNetworks } from '../../../../src/domain/net/networks.ts';

const [ipv4, ipv6] = publicNetworks([]);

test('lets pods reach the addresses that URLs may have, and no others', () => {
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
  for (const address of [
    '1.1.1.1',
    '223.255.255.255',
    '2606:4700::1',
    '3ffe:ffff::1',
    '3fff:1000::1',
    '2001:200::1',
    '2001:4860::1',
  ])
    expect(isPublicAddress(address), address).toBe(true);
  expect(ipv6?.cidr).toBe('2000::/3');
});

test('lets builds reach the same networks', () => {
  const text = readFileSync(new URL('../../../../manifests/cloud.yaml', import.meta.url), 'utf8');
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

test('adds a closed network to the exceptions of the network that contains it', () => {
  const [of4, of6] = publicNetworks(['198.51.100.0/24', '52.0.0.0/16', '2600:1f00::/24', 'fd00::/8']);
  expect(of4?.except).toEqual([...(ipv4?.except ?? []), '52.0.0.0/16']);
  expect(of6?.except).toEqual([...(ipv6?.except ?? []), '2600:1f00::/24']);
});

test.each([
  '168.63.129.16',
  '161.26.0.1',
  '161.26.255.255',
  '166.8.0.1',
  '166.11.255.255',
  '169.254.169.254',
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::a9fe:a9fe',
  '2002:a9fe:a9fe::1',
  '2001:0:a9fe:a9fe::1',
  '2001:2::1',
  '2001:10::1',
  '2001:2f:ffff::1',
  '2001:1ff:ffff::1',
  '3fff::1',
  '3fff:fff:ffff::1',
  '192.88.99.0',
  '192.88.99.255',
  '::ffff:168.63.129.16',
  '::ffff:a83f:8110',
  '::FFFF:A83F:8110',
  '::168.63.129.16',
  'fe80::1%eth0',
])('does not treat %s as public, because a provider or a network has its own services there', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  '168.63.129.15',
  '168.63.129.17',
  '161.25.255.255',
  '161.27.0.0',
  '166.7.255.255',
  '166.12.0.0',
  '192.88.98.255',
  '192.88.100.0',
])('treats %s, which is next to such a network, as public', (address) =>
  expect(isPublicAddress(address)).toBe(true),
);

test.each([
  'https://168.63.129.16/a',
  'https://0xa83f8110/a',
  'https://2822734096/a',
  'https://[::ffff:a83f:8110]/a',
])('rejects a repository at %s', (url) => expect(repositoryUrlSchema.safeParse(url).success).toBe(false));

test('opens networks of the provider and parts of them, except closed ones', () => {
  const open = ['161.26.0.0/16', '166.9.0.0/16'];
  expect(publicNetworks([], open).map(({ cidr }) => cidr)).toEqual(['0.0.0.0/0', ...open, '2000::/3']);
  const [, opened] = publicNetworks(['161.26.4.0/24', '166.8.0.0/14'], open);
  expect(opened).toEqual({ cidr: '161.26.0.0/16', except: ['161.26.4.0/24'] });
  expect(publicNetworks(['166.8.0.0/14'], ['166.9.0.0/16']).map(({ cidr }) => cidr)).toEqual([
    '0.0.0.0/0',
    '2000::/3',
  ]);
  for (const network of open) expect(isProviderNetwork(network)).toBe(true);
  for (const network of ['10.0.0.0/8', '160.0.0.0/4', '169.254.169.254/32', '2000::/3'])
    expect(isProviderNetwork(network)).toBe(false);
});
