import type { SourceConfig } from '../deployment/deployment.ts';
import type { DeploymentType } from '../deployment/source.ts';
import { COMPONENTS, type Component, componentExists } from '../resource-spec/components.ts';
import { effectiveSpec } from '../resource-spec/effective-spec.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import { effectiveCommands } from './procfile.ts';
import type { RunSettings } from './run-settings.ts';

/**
 * A command, also one of a Procfile, creates its component with default sizes, as a field of resource_spec does. So an image that knows nothing of
 * components needs no sizes, and a rollback to a revision without the command removes the component.
 */

/** The components that exist only because of a command. */
export function commandComponents(spec: ResourceSpec, settings: RunSettings): Component[] {
  const commands = effectiveCommands(settings);
  return COMPONENTS.filter(
    (component) => commands[component] !== undefined && !componentExists(spec, component),
  );
}

/** For each component, one field with the value that it has by default. It creates the component. */
function markers(spec: ResourceSpec, type: DeploymentType | null): Record<Component, ResourceSpec> {
  return {
    api: {},
    // The scale of the queue is by default that of the api component.
    queue: { queue_min_scale: effectiveSpec(spec, type).min_scale },
    orchestrator: { orchestrator_min_scale: 1 },
    executor: { executor_cpu: 1 },
  };
}

/**
 * source_config with the components that commands create, for sizes, rules, quotas and rendering. It is never stored, because
 * source_config has only what was sent.
 */
export function withCommandComponents(sourceConfig: SourceConfig, settings: RunSettings): SourceConfig {
  const { resource_spec, deployment_type: type } = sourceConfig;
  const spec = resource_spec ?? {};
  const added = commandComponents(spec, settings);
  if (added.length === 0) return sourceConfig;
  const marker = markers(spec, type);
  const fields = added.map((component) => marker[component]);
  return { ...sourceConfig, resource_spec: Object.assign({}, spec, ...fields) as ResourceSpec };
}
