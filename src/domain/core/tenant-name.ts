import { NAME_FORM, nameSchema } from './name.ts';

export const tenantNameSchema = nameSchema.describe(`Name, unique among tenants. ${NAME_FORM}`);
