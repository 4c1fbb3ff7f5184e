import type { BuildConfig } from '../../../contract/render/build-config.ts';
import type { BuildSpec } from '../../../contract/resource/build.ts';
import { isPublicHost } from '../../../domain/net/https-url.ts';
import type { BuildJudgement } from './judge-build.ts';

/**
 * Rejects a build whose repository is at a private address or a host name without a domain, unless the installation
 * allows such hosts. The API also rejects private hosts, but a user may write a custom resource directly. The clone
 * step checks the address of a public name, because only that step resolves it.
 */
export function withoutPrivateHost(
  judgement: BuildJudgement,
  { revisionId, number, repoUrl }: BuildSpec,
  { sourceVariables }: Pick<BuildConfig, 'sourceVariables'>,
): BuildJudgement {
  if (repoUrl === undefined) return judgement;
  const { hostname } = new URL(repoUrl);
  const isAllowed = sourceVariables['BERTH_GIT_ALLOW_PRIVATE'] === 'true' || isPublicHost(hostname);
  if (judgement.start === null || isAllowed) return judgement;
  const message = `${hostname} has a private address, and this installation does not call private addresses`;
  const status = { revisionId, number, phase: 'Failed', reason: 'GitHostRefused', message } as const;
  return { status, start: null, recheckAt: null };
}
