import { expect, test } from 'vitest';
import { mergedDockerConfig } from '../../../../../src/cluster/listener/builds/docker-config.ts';

const auths = (all: object, more: object = {}) => JSON.stringify({ auths: all, ...more });

test('credentials for base images are added to those of the build, and never replace them', () => {
  const own = auths({ 'registry.example': { auth: 'own' } });
  const bases = auths(
    { 'registry.example': { auth: 'other' }, 'docker.io': { auth: 'base' } },
    { credHelpers: { x: 'program' }, credsStore: 'program' },
  );
  expect(JSON.parse(mergedDockerConfig(own, bases) ?? '')).toEqual({
    auths: { 'registry.example': { auth: 'own' }, 'docker.io': { auth: 'base' } },
  });
  for (const broken of ['', '{', '[]', 'null', '{}', '{"auths": []}', '{"auths": null}']) {
    expect(mergedDockerConfig(own, broken)).toBeNull();
  }
});
