import { describe, expect, test } from 'vitest';
import { judgeBuild } from '../../../../../src/cluster/operator/builds/judge-build.ts';
import { withoutPrivateHost } from '../../../../../src/cluster/operator/builds/private-host.ts';
import { buildOf, CONFIG, jobOf, NOW, resourceWith } from './fixtures.ts';

const resource = resourceWith();
const of = (repoUrl: string) => ({ ...buildOf(resource), repoUrl });
const judged = (repoUrl: string, jobs = [] as ReturnType<typeof jobOf>[]) =>
  judgeBuild(resource, of(repoUrl), { jobs, pods: [], refusal: null }, CONFIG.timeoutSeconds, NOW);
const PRIVATE_CALLED = { sourceVariables: { BERTH_GIT_ALLOW_PRIVATE: 'true' } };

describe('the build of a repository', () => {
  test.each([
    'https://localhost/a',
    'https://127.0.0.1/a',
    'https://0x7f.1/a',
    'https://169.254.169.254/latest',
    'https://[::1]/a',
    'https://[fd00::1]/a',
    'https://kubernetes.default.svc/a',
  ])('fails for %s unless the installation calls private addresses', (url) => {
    const judgement = judged(url);
    expect(withoutPrivateHost(judgement, of(url), CONFIG)).toMatchObject({
      status: { revisionId: 'r1', number: 1, phase: 'Failed', reason: 'GitHostRefused' },
      start: null,
    });
    expect(withoutPrivateHost(judgement, of(url), PRIVATE_CALLED)).toBe(judgement);
  });

  test('starts for a public name, whose address the clone step checks', () => {
    const judgement = judged('https://git.example/shop/web');
    expect(judgement.start).not.toBeNull();
    expect(withoutPrivateHost(judgement, of('https://git.example/shop/web'), CONFIG)).toBe(judgement);
  });

  test('continues when its Job already runs, because its first step has checked the address', () => {
    const judgement = judged('https://127.0.0.1/a', [jobOf(resource)]);
    expect(withoutPrivateHost(judgement, of('https://127.0.0.1/a'), CONFIG)).toBe(judgement);
  });
});
