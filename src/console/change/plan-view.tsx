import { useState } from 'react';
import { toYaml } from '../form/yaml.ts';
import { FieldName } from '../ui/field-name.tsx';
import { LongText } from '../ui/long-text.tsx';
import { Mark } from '../ui/mark.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import type { Tone } from '../ui/tone.ts';
import ui from '../ui/ui.module.css';
import styles from './change.module.css';
import { ChangedValue } from './changed-value.tsx';
import { effectsOf, isEmpty, objectsOf, type Plan, type PlannedObject } from './plan.ts';

const TONES: Readonly<Record<NonNullable<PlannedObject['change']>, Tone>> = {
  new: 'good',
  changed: 'busy',
  removed: 'bad',
  unchanged: 'off',
};

function PlannedObjectView({ kind, name, change, manifest }: PlannedObject) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <bdi>{kind}</bdi> <bdi>{name}</bdi> {change !== null && <Mark tone={TONES[change]} text={change} />}
      </summary>
      {isOpen && <pre className={ui['code']}>{toYaml(manifest)}</pre>}
    </details>
  );
}

function Objects({ plan, before }: PlanViewProps) {
  if (plan.manifests === null || plan.manifests === undefined)
    return <p>The objects are not known until the listener of the cluster has connected.</p>;
  const objects = objectsOf(plan.manifests, before ?? null);
  const touched = objects.filter(({ change }) => change !== 'unchanged');
  const rest = objects.filter(({ change }) => change === 'unchanged');
  return (
    <div className={styles['objects']}>
      {touched.map((each) => (
        <PlannedObjectView key={`${each.kind} ${each.name}`} {...each} />
      ))}
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} unchanged</summary>
          {rest.map((each) => (
            <PlannedObjectView key={`${each.kind} ${each.name}`} {...each} />
          ))}
        </details>
      )}
    </div>
  );
}

interface PlanViewProps {
  readonly plan: Plan;
  /** The objects without the change. Absent: not known. */
  readonly before?: Plan['manifests'];
}

/** What a change would do. */
export function PlanView({ plan, before }: PlanViewProps) {
  if (isEmpty(plan)) return <p>This would change nothing.</p>;
  return (
    <>
      <ul className={styles['effects']}>
        {effectsOf(plan).map((effect) => (
          <li key={effect}>
            <LongText text={effect} />
          </li>
        ))}
      </ul>
      <h3>Fields</h3>
      <ScrollTable label="Changed fields" columns={['Field', 'Before', 'After']}>
        {(plan.changes ?? []).map(({ field, before: old, after }) => (
          <tr key={field}>
            <th scope="row" className={styles['field']}>
              <FieldName field={field} />
            </th>
            <td>
              <ChangedValue value={old} />
            </td>
            <td>
              <ChangedValue value={after} />
            </td>
          </tr>
        ))}
      </ScrollTable>
      <h3>Objects</h3>
      <Objects plan={plan} {...(before === undefined ? {} : { before })} />
    </>
  );
}
