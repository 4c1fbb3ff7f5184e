import type { Secret, SourceConfig, SourceRevisionConfig } from '../deployment/deployment.ts';
import { disabledServices } from '../pod-settings/data-services.ts';
import { commandComponents } from './command-components.ts';
import { externalServices } from './external-services.ts';
import type { RunSettings } from './run-settings.ts';

/** How the content of a revision adds pods to those of source_config, or removes them. */

/** The data services that Berth does not run: the tenant provides them, or has switched them off. */
export function servicesNotRun(
  sourceConfig: Pick<SourceConfig, 'database' | 'cache'>,
  secretNames: readonly string[],
  settings: RunSettings,
) {
  const external = externalServices(secretNames, settings);
  const disabled = disabledServices(sourceConfig);
  return {
    database: external.database || disabled.database,
    cache: external.cache || disabled.cache,
  };
}

/** Names of secrets. */
export const namesOf = (secrets: readonly Secret[]): string[] => secrets.map(({ name }) => name);

/** The content of a revision. */
export interface RevisionContent {
  readonly sourceRevisionConfig: SourceRevisionConfig;
  /** null: the secrets cannot be decrypted. */
  readonly secrets: readonly Secret[] | null;
}

/**
 * Whether another content moves the database or the cache into the cluster or out of it, or changes the components that
 * commands create. Then other rules and quotas apply to the stored source_config.
 */
export function addsOrRemovesPods(
  { resource_spec: spec }: Pick<SourceConfig, 'resource_spec'>,
  before: RevisionContent,
  after: RevisionContent & { readonly secrets: readonly Secret[] },
): boolean {
  if (before.secrets === null) return true;
  const from = externalServices(namesOf(before.secrets), before.sourceRevisionConfig);
  const to = externalServices(namesOf(after.secrets), after.sourceRevisionConfig);
  if (from.database !== to.database || from.cache !== to.cache) return true;
  const created = ({ sourceRevisionConfig }: RevisionContent) =>
    commandComponents(spec ?? {}, sourceRevisionConfig).join();
  return created(before) !== created(after);
}
