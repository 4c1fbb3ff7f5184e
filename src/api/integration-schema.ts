import { z } from 'zod';
import { uuidSchema } from '../domain/deployment-bodies.ts';
import { GIT_PROVIDERS } from '../domain/git-host.ts';
import { gitHostUrlSchema } from '../domain/https-url.ts';
import { NAME_FORM, nameSchema } from '../domain/name.ts';
import type { Integration } from '../store/integrations.ts';
import { timeSchema } from './deployment-schema.ts';

/** Integrations as sent and as answered: a token goes in and never comes out. */

const integrationNameSchema = nameSchema.describe(`Name, unique in the tenant. ${NAME_FORM}`);
const tokenSchema = z
  .string()
  .min(1)
  .max(4096)
  // It goes into a header: nothing but printable ASCII, and never into a message.
  .regex(/^[\x21-\x7e]+$/, 'must consist of printable ASCII characters without spaces')
  .describe('Token for the git host. Write-only: it is in no answer.')
  .meta({ examples: ['glpat-write-only'] });

export const createIntegrationSchema = z
  .strictObject({
    name: integrationNameSchema,
    provider: z.enum(GIT_PROVIDERS).describe('What runs there; git: any other git server.'),
    host_url: gitHostUrlSchema
      .describe('https URL of the git host. The token is used for it alone; it cannot be changed.')
      .meta({ examples: ['https://git.example.com'] }),
    token: tokenSchema,
  })
  .describe('An integration to be made.');

export const patchIntegrationSchema = z
  .strictObject({ name: integrationNameSchema.optional(), token: tokenSchema.optional() })
  .describe('What is to change; what is absent stays.');

export const integrationSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    tenant_id: uuidSchema.describe('Owner.'),
    name: z.string().describe('Name.'),
    provider: z.enum(GIT_PROVIDERS).describe('What runs there.'),
    host_url: z
      .string()
      .describe('URL of the git host.')
      .meta({ examples: ['https://git.example.com'] }),
    takes_webhooks: z.boolean().describe('It has a secret for webhooks; without one, none is taken.'),
    created_at: timeSchema.describe('When it was made.'),
    updated_at: timeSchema.describe('When name, token or webhook secret last changed.'),
  })
  .describe('Credentials for a git host; the token is never answered.');

export const integrationListSchema = z
  .object({
    resources: z.array(integrationSchema).describe('Newest first.'),
    offset: z.int().describe('Pass it in the next request to get the next page.'),
  })
  .describe('A page of integrations.');

const repositorySchema = z
  .object({
    full_name: z.string().describe('Name with its owner or group.'),
    repo_url: z.string().describe('URL to clone: what repo_url of a deployment takes.'),
    default_branch: z.string().nullable().describe('Default branch; null: the repository is empty.'),
    private: z.boolean().nullable().describe('Not open to everybody; null: the git host does not say.'),
  })
  .describe('A repository that the token may read.');

export const repositoryListSchema = z
  .object({
    resources: z.array(repositorySchema).describe('In the order of the git host.'),
    offset: z.int().describe('Pass it in the next request to get the next page.'),
  })
  .describe('A page of repositories; an empty one is past the end.');

/** An integration as answered. */
export const presentIntegration = (integration: Integration): z.infer<typeof integrationSchema> => ({
  id: integration.id,
  tenant_id: integration.tenantId,
  name: integration.name,
  provider: integration.provider,
  host_url: integration.hostUrl,
  takes_webhooks: integration.takesWebhooks,
  created_at: integration.createdAt.toISOString(),
  updated_at: integration.updatedAt.toISOString(),
});
