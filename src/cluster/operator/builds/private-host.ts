import type { BuildConfig } from '../../../contract/render/build-config.ts';
import type { BuildSpec } from '../../../contract/resource/build.ts';
import { isPublicHost } from '../../../domain/net/https-url.ts';
import type { BuildJudgement } from './judge-build.ts';

/**
 * Rejects a build whose repository is at a private address or a host name without a domain, unless the installation
 * allows such hosts. The API rejects them too, but any user may write a custom resource. The clone step checks the
 * address of a public name, because only that step resolves it.
 */
export function withoutPrivateHost(
  judgement: BuildJudgement,
  { revisionId, number, repoUrl }: BuildSpec,
  { sourceVariables }: Pick<BuildConfig, 'sourceVariables'>,
): BuildJudgement {
  const { hostname } = new URL(repoUrl);
  const isAllowed = sourceVariables['BERTH_GIT_ALLOW_PRIVATE'] === 'true' || isPublicHost(hostname);
  if (judgement.start === null || isAllowed) return judgement;
  const message = `${hostname} is at a private address, which this installation does not call`;
  const status = { revisionId, number, phase: 'Failed', reason: 'GitHostRefused', message } as const;
  return { status, start: null, recheckAt: null };
}
