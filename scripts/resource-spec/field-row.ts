/** One field of one object. `<app>`, `<component>` and `<name>` are the names of deployment, component and list entry. */
export interface FieldTarget {
  /** Kind and name of the object. */
  readonly object: string;
  /** Path in the object. `containers[app]` is the list entry with that name (for mounts: with that mountPath). */
  readonly path: string;
  /** Form of the value, for readers. Absent: as sent. */
  readonly shown?: string;
  /** Returns the value for a sent value. Absent: as sent. In a list of strings it is one of them. */
  readonly value?: (sent: number) => string | number;
  /** Condition under which the target is set, for readers. */
  readonly when?: string;
  /** Other fields that meet the condition. */
  readonly given?: (sent: number) => Readonly<Record<string, number>>;
  /** Whether the target applies to this list entry. Absent: to all. */
  readonly holds?: (entry: { restartPolicy?: string | undefined }) => boolean;
}

/** One field of resource_spec with all its targets. `[]` means each entry of a list. */
export interface FieldRow {
  readonly field: string;
  readonly targets: readonly FieldTarget[];
  readonly note?: string;
}

/** Path of the pod spec in a workload. */
export const POD = 'spec.template.spec';
