import type { BuildConfig } from '../../../contract/render/build-config.ts';
import type { BuildSpec } from '../../../contract/resource/build.ts';
import { isPublicHost } from '../../../domain/net/https-url.ts';
import type { Judgement } from './judge-build.ts';

/**
 * No Job is begun for a repository that names a private address or a name of a network, unless the installation calls
 * such: the API takes none, but a custom resource may be anybody's. Where a public name leads, the step that clones looks
 * at, for only there it is resolved.
 */
export function withoutPrivateHost(
  judgement: Judgement,
  { revisionId, number, repoUrl }: BuildSpec,
  { sourceVariables }: Pick<BuildConfig, 'sourceVariables'>,
): Judgement {
  const { hostname } = new URL(repoUrl);
  const isCalled = sourceVariables['BERTH_GIT_ALLOW_PRIVATE'] === 'true' || isPublicHost(hostname);
  if (judgement.start === null || isCalled) return judgement;
  const message = `${hostname} is at a private address, which this installation does not call`;
  const status = { revisionId, number, phase: 'Failed', reason: 'GitHostRefused', message } as const;
  return { status, start: null, recheckAt: null };
}
