import { line } from './kubernetes/text.ts';

export const tenantNameSchema = line(128)
  .refine((name) => name.trim() !== '', 'must not be blank')
  .describe('Name, unique among tenants.');
