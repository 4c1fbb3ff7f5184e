import { readFile } from 'node:fs/promises';
import type { Config } from '../../config/index.ts';
import type { AccessPolicy } from '../../domain/access/access-policy.ts';
import type { Logger } from '../../domain/core/logger.ts';
import { sameJson } from '../../domain/core/same-json.ts';
import type { Policy } from '../../domain/policy/policy.ts';
import { repeat } from '../interval.ts';
import { parsePolicy } from './policy-file.ts';

/**
 * How often the policy file is read, in milliseconds. In a pod, the kubelet updates the file about a minute after the
 * change of its ConfigMap.
 */
const EVERY_MS = 2_000;

export interface PolicyReload {
  readonly config: Pick<Config, 'hosting' | 'policyFile'>;
  /** The policy with which the process started. */
  readonly policy: Policy;
  readonly logger: Logger;
  /** Called after the roles have changed. */
  readonly onChange: () => void;
  /** Default: EVERY_MS. */
  readonly everyMs?: number;
}

export interface ReloadedPolicy {
  /** The roles in force. */
  access(): AccessPolicy;
  /** Whether the file has changed to a content that cannot be used, so that the former roles are in force. */
  isInvalid(): boolean;
  stop(): void;
}

const withoutAccess = ({ access: _, ...rest }: Policy) => rest;

/**
 * Applies changes of the section `access` of the policy file while the process runs. All other entries apply after a
 * restart, because the operator reads them, too. If the file becomes invalid, the former roles stay in force.
 */
export function reloadPolicy(options: PolicyReload): ReloadedPolicy {
  const { config, policy, logger, onChange, everyMs = EVERY_MS } = options;
  let { access } = policy;
  let content: string | null = null;
  let isInvalid = false;
  const { policyFile } = config;
  if (policyFile === null) return { access: () => access, isInvalid: () => false, stop: () => undefined };

  const apply = (text: string): void => {
    const changed = parsePolicy(config, text, `BERTH_POLICY: ${policyFile}`);
    if (!sameJson(withoutAccess(changed), withoutAccess(policy)))
      logger.info({ file: policyFile }, 'the policy has changes that apply after a restart of Berth');
    if (sameJson(changed.access, access)) return;
    access = changed.access;
    logger.info({ file: policyFile, rules: access.groups.length }, 'applied the changed roles of the policy');
    onChange();
  };
  const check = async (): Promise<void> => {
    let text: string;
    try {
      text = await readFile(policyFile, 'utf8');
      if (text === content) return;
      apply(text);
      isInvalid = false;
    } catch (error) {
      if (!isInvalid) {
        const next = 'next: correct the file; the former roles stay in force until then';
        logger.error({ err: String(error) }, `failed to apply the changed policy; ${next}`);
      }
      isInvalid = true;
      return;
    }
    content = text;
  };
  const stop = repeat({ what: 'read the policy file', everyMs, logger }, check);
  return { access: () => access, isInvalid: () => isInvalid, stop };
}
