import { describe, expect, test } from 'vitest';
import { isPlatformHost } from '../../../src/cluster/operator/access/host-claims.ts';
import { forbiddenParts } from '../../../src/cluster/operator/access/spec-policy.ts';
import type { ObservedResource } from '../../../src/cluster/operator/observed.ts';
import { customResourceDefinition } from '../../../src/contract/crd/crd.ts';
import { managedDeploymentSpecSchema } from '../../../src/contract/resource/managed-deployment.ts';
import { imageSchema } from '../../../src/domain/kubernetes/image.ts';
import { resolvePolicy } from '../../../src/domain/policy/policy.ts';
import { leavesOf, structuralLeavesOf } from './schema-walk.ts';

const build = {
  revisionId: 'r',
  number: 1,
  repoUrl: 'https://git.example.com/a/b',
  configPath: 'app.json',
  repository: 'registry.test/a',
  secretName: 's',
};
const image = { image: 'web:1' };
const helper = (bad: string) => [{ name: 'helper', image: bad }];

/** A spec with a bad value in the field, by the field. */
const IMAGES: Readonly<Record<string, (bad: string) => object>> = {
  'revision.image': (bad) => ({ revision: { image: bad } }),
  'database.image': (bad) => ({ revision: image, database: { image: bad } }),
  'podTemplate.initContainers[].image': (bad) => ({
    revision: image,
    podTemplate: { initContainers: helper(bad) },
  }),
  'podTemplate.sidecars[].image': (bad) => ({ revision: image, podTemplate: { sidecars: helper(bad) } }),
  'build.repository': (bad) => ({ revision: image, build: { ...build, repository: bad } }),
  'build.upload.repository': (bad) => ({
    revision: image,
    build: { ...build, upload: { digest: `sha256:${'a'.repeat(64)}`, repository: bad } },
  }),
};

/** What is checked of a host, by the field, and the test that checks it. */
const HOSTS: Readonly<Record<string, string>> = {
  'routing.url': 'shape: here; whose it is, and the platform’s own: host-claims.test.ts',
  'build.repoUrl': 'shape: here; private addresses: builds/private-host.test.ts',
  'podTemplate.volumes[].nfs.server': 'the policy allows the kind or not: here',
};

/** Names of fields that contain neither an image nor a host. */
const OTHERS = /imagePullPolicy$|localhostProfile$|imagePullSecrets\[\]\.name$|httpGet/;

/** Whether the operator rejects the spec: it cannot be parsed, or a part is forbidden. */
function isJudged(spec: object, hosting: 'cloud' | 'self_hosted' = 'self_hosted'): boolean {
  const parsed = managedDeploymentSpecSchema.safeParse(spec);
  if (!parsed.success) return true;
  const resource = { metadata: { name: 'web', namespace: 'shop' }, spec: parsed.data };
  return forbiddenParts(resource as unknown as ObservedResource, resolvePolicy(hosting)).length > 0;
}

const [version] = customResourceDefinition().spec.versions;
const FIELDS = structuralLeavesOf(version?.schema.openAPIV3Schema.properties?.['spec'] ?? {});

/** Whether the rules of the field in the custom resource take a value. They hold nothing but regular expressions. */
function resourceTakes(path: string, value: string): boolean {
  const { schema } = FIELDS.find((each) => each.path === path) ?? {};
  const rules = (schema?.['x-kubernetes-validations'] ?? []) as { rule: string }[];
  const parts = rules.flatMap(({ rule }) => rule.split(' && '));
  expect(parts.length).toBeGreaterThan(0);
  return parts.every((part) => {
    const [, not, pattern] = /^(!?)self\.matches\(r'([^']*)'\)$/.exec(part) ?? [];
    if (pattern === undefined) throw new Error(`${part} is no regular expression`);
    return new RegExp(pattern).test(value) === (not === '');
  });
}

test('this test covers every field for an image or a host', () => {
  const sounding = leavesOf(managedDeploymentSpecSchema)
    .map(({ path }) => path)
    .filter((path) => /image|repo|url|host|server|registry|address/i.test(path) && !OTHERS.test(path));
  expect(sounding.toSorted()).toEqual([...Object.keys(IMAGES), ...Object.keys(HOSTS)].toSorted());
});

describe.each(Object.entries(IMAGES))('%s', (path, withImage) => {
  test.each([
    'sha256:3f',
    'sha256',
    `sha256@sha256:${'ab'.repeat(32)}`,
    `sha256:${'ab'.repeat(32)}`,
    'ab'.repeat(32),
    '0'.repeat(64),
    'registry.test/UPPER',
    'https://registry.test/web:1',
    'registry.test/web:1:2',
    'registry.test/web@sha256:3f',
    'registry.test//web',
    '-web',
    '../web',
  ])('rejects %s in the operator, the API and the custom resource', (bad) => {
    expect(isJudged(withImage(bad))).toBe(true);
    expect(imageSchema.safeParse(bad).success).toBe(false);
    expect(resourceTakes(path, bad)).toBe(false);
  });

  test.each(['registry.test:5000/team/web', `library/${'ab'.repeat(32)}`, 'a'.repeat(63), 'a'.repeat(65)])(
    'accepts %s in the operator, the API and the custom resource',
    (image) => {
      expect(isJudged(withImage(image))).toBe(false);
      expect(imageSchema.safeParse(image).success).toBe(true);
      expect(resourceTakes(path, image)).toBe(true);
    },
  );
});

describe('the check of hosts', () => {
  test.each(['http://shop.example.com', 'https://u:p@shop.example.com', 'https://shop.example.com:8443'])(
    'rejects %s as a route',
    (url) => expect(isJudged({ revision: image, routing: { url } })).toBe(true),
  );
  test.each(['ext::sh -c id', 'http://git.example.com/a', 'https://u:p@git.example.com/a'])(
    'rejects %s as a repository',
    (repoUrl) => expect(isJudged({ revision: image, build: { ...build, repoUrl } })).toBe(true),
  );
  test('rejects an NFS server that the policy does not allow', () => {
    const volumes = [{ name: 'v', nfs: { server: '169.254.169.254', path: '/' } }];
    expect(isJudged({ revision: image, podTemplate: { volumes } }, 'cloud')).toBe(true);
  });
  test.each(['registry.example.com', 'REGISTRY.example.com', 'registry.example.com.'])(
    'recognizes %s as a host of the platform',
    (host) => expect(isPlatformHost(host, { own: null, others: ['registry.example.com'] })).toBe(true),
  );
});
