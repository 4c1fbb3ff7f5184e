import { expect, test } from 'vitest';
import { renderTemplates } from '../../../../src/workloads/objects/pod-template.ts';
import { listenerSecretsOf } from '../../../../src/workloads/objects/secret-sentinel.ts';
import { minimalRequest, resourceOf, SELF_HOSTED } from '../render-request.ts';

const secretsOf = (spec: object, secrets: { name: string; value: string }[] = []) => {
  const resource = resourceOf({ ...minimalRequest(spec), secrets }, SELF_HOSTED);
  return listenerSecretsOf(resource, renderTemplates(resource, SELF_HOSTED));
};
const app = resourceOf(minimalRequest(), SELF_HOSTED).metadata.name;

test('lists only the Secrets that the listener creates, and no others that pods name', () => {
  expect(secretsOf({})).toEqual([]);
  expect(secretsOf({}, [{ name: 'A', value: 'b' }])).toEqual([`${app}-env-1`]);
  expect(secretsOf({ image_pull_secrets: [{ name: 'mine' }] })).toEqual([]);
  expect(
    secretsOf({ image_pull_secrets: [{ name: 'mine' }, { name: `${app}-pull` }] }, [
      { name: 'A', value: 'b' },
    ]),
  ).toEqual([`${app}-env-1`, `${app}-pull`]);
});

test('does not reveal whether another deployment has a Secret of some name', () => {
  const resource = resourceOf({ ...minimalRequest(), secrets: [{ name: 'A', value: 'b' }] }, SELF_HOSTED);
  const asking = (envSecretName: string) =>
    listenerSecretsOf(
      { ...resource, spec: { ...resource.spec, revision: { ...resource.spec.revision, envSecretName } } },
      {},
    );
  expect(asking('other-0a1b2c3d-env-1')).toEqual([]);
  expect(asking('written-by-hand')).toEqual(['written-by-hand']);
});
