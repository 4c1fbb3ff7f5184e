import type { z } from 'zod';

/** A process that reads a setting. */
export type Reader = 'api' | 'listener' | 'operator' | 'build-step';
/** Roles that read hub settings and cluster settings. */
export const HUB = ['api'] as const;
export const CLUSTER = ['listener', 'operator'] as const;

/** One setting: the schema of its text and its help. */
export interface Setting {
  readonly schema: z.ZodType;
  readonly help: string;
  readonly secret?: true;
  /** Absent: every role. */
  readonly readers?: readonly Reader[];
}

/** A setting that may be shown. */
export const setting = <T extends z.ZodType>(schema: T, help: string, readers?: readonly Reader[]) => ({
  schema,
  help,
  readers,
});
/** A setting whose value is masked wherever settings are shown. */
export const secret = <T extends z.ZodType>(schema: T, help: string, readers?: readonly Reader[]) => ({
  ...setting(schema, help, readers),
  secret: true as const,
});
