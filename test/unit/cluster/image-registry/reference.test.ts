import { describe, expect, test } from 'vitest';
import { registryReference } from '../../../../src/cluster/image-registry/reference.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('registryReference', () => {
  test.each([
    ['nginx', 'docker.io', 'library/nginx', 'latest'],
    ['nginx:1.29', 'docker.io', 'library/nginx', '1.29'],
    ['team/app:1', 'docker.io', 'team/app', '1'],
    ['docker.io/nginx:1', 'docker.io', 'library/nginx', '1'],
    ['docker.io/library/nginx:1', 'docker.io', 'library/nginx', '1'],
    ['index.docker.io/team/app', 'docker.io', 'team/app', 'latest'],
    ['registry.example.com/app:1', 'registry.example.com', 'app', '1'],
    ['registry.example.com:5000/team/app', 'registry.example.com:5000', 'team/app', 'latest'],
    ['localhost/app', 'localhost', 'app', 'latest'],
    ['127.0.0.1:5000/app:1', '127.0.0.1:5000', 'app', '1'],
    [`nginx:1.29@${DIGEST}`, 'docker.io', 'library/nginx', DIGEST],
    [`registry.example.com/app@${DIGEST}`, 'registry.example.com', 'app', DIGEST],
  ])(
    'splits %s into the host %s, the repository %s and the reference %s',
    (image, host, repository, reference) => {
      const found = registryReference(image);
      expect(found).toMatchObject({ host, repository, reference, isDigest: image.includes('@') });
      expect(found?.apiHost).toBe(host === 'docker.io' ? 'registry-1.docker.io' : host);
    },
  );

  test.each(['', 'Nginx', 'a b', 'app:', 'app@sha256:short', 'https://registry.example.com/app'])(
    'returns null for the invalid image %j',
    (image) => {
      expect(registryReference(image)).toBeNull();
    },
  );
});
