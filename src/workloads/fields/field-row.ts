/** One place in one object. `<app>`, `<component>`, `<name>` stand for the deployment's, component's, entry's name. */
export interface FieldTarget {
  /** Kind and name of the object. */
  readonly object: string;
  /** Path in it; `containers[app]` is the entry of that name (mounts: of that mountPath). */
  readonly path: string;
  /** How the value appears there, for readers; absent: as sent. */
  readonly shown?: string;
  /** The value there, of the one that was sent; absent: as sent. In a list of strings: one of them. */
  readonly value?: (sent: number) => string | number;
  /** Under which circumstances, for readers. */
  readonly when?: string;
  /** Other fields that bring those circumstances about. */
  readonly given?: (sent: number) => Readonly<Record<string, number>>;
  /** Whether it holds for this entry of a list; absent: for all. */
  readonly holds?: (entry: { restartPolicy?: string | undefined }) => boolean;
}

/** One field with all its places. `[]` stands for each entry of a list. */
export interface FieldRow {
  readonly field: string;
  readonly targets: readonly FieldTarget[];
  readonly note?: string;
}

/** Path of the pod's spec in a workload. */
export const POD = 'spec.template.spec';
