import { MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import type { ConditionType } from '../../../domain/conditions/conditions.ts';
import { type Finding, yes } from './conditions.ts';
import type { Facts } from './facts.ts';
import { imageReady } from './image-findings.ts';
import { progressFindings } from './progress-findings.ts';
import { ready } from './ready-findings.ts';
import { progressing } from './rollout-findings.ts';
import { cacheReady, databaseReady } from './service-findings.ts';
import { serving } from './serving-findings.ts';

/**
 * The rules of all conditions. Each type has one ordered list of checks, and the first check that applies determines
 * the condition. The lists of checks, in this file and in the files named `*-findings.ts`, are the specification of the
 * status.
 */

/** All conditions; null keeps the former condition. */
export function findings(facts: Facts): Partial<Record<ConditionType, Finding | null>> {
  const isReady = ready(facts);
  return {
    DatabaseReady: databaseReady(facts),
    CacheReady: cacheReady(facts),
    ImageReady: imageReady(facts),
    Progressing: progressing(facts),
    Serving: serving(facts),
    // The condition RouteReady exists only if a route is requested.
    ...(facts.route === null ? {} : { RouteReady: facts.route }),
    Ready: isReady,
    ...progressFindings(facts, isReady),
    ...(facts.paused
      ? {
          Paused: yes(
            'Paused',
            `the annotation ${ANNOTATIONS.paused} is set: Berth changes nothing in the cluster until it is removed: ${unpause(facts)}`,
          ),
        }
      : {}),
  };
}

/** The command that ends the pause of a resource. */
function unpause({ observed: { resource } }: Facts): string {
  const { name, namespace } = resource.metadata;
  return `kubectl annotate -n ${namespace} ${MANAGED_DEPLOYMENT.shortName}/${name} ${ANNOTATIONS.paused}-`;
}
