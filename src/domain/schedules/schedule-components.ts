import type { BodyIssue } from '../core/body-issue.ts';
import type { SourceConfig } from '../deployment/deployment.ts';
import { effectiveSpec, hasComponent } from '../resource-spec/effective-spec.ts';

/** Schedules that run in a component that the deployment does not have. */
export function scheduleComponentIssues({
  schedules = [],
  resource_spec: spec,
  deployment_type: type,
}: Pick<SourceConfig, 'schedules' | 'resource_spec' | 'deployment_type'>): BodyIssue[] {
  if (schedules.length === 0) return [];
  const effective = effectiveSpec(spec ?? {}, type);
  return schedules.flatMap(({ component = 'api' }, index) =>
    hasComponent(effective, component)
      ? []
      : [
          {
            loc: ['source_config', 'schedules', index, 'component'],
            msg: `must be a component of the deployment, which has no ${component}`,
            type: 'schedule_component',
          },
        ],
  );
}
