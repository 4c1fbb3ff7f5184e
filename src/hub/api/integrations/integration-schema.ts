import { z } from 'zod';
import { GIT_PROVIDERS } from '../../../domain/builds/git-host.ts';
import { NAME_FORM, nameSchema } from '../../../domain/core/name.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { gitHostUrlSchema } from '../../../domain/net/https-url.ts';
import type { Integration } from '../../store/builds/integrations.ts';
import { pageSchema } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';

/** Integrations in requests and responses. A token is accepted and never returned. */

const integrationNameSchema = nameSchema.describe(`Name, unique in the tenant. ${NAME_FORM}`);
const tokenSchema = z
  .string()
  .min(1)
  .max(4096)
  // The token is sent in a header, so only printable ASCII is accepted. The token must never appear in a message.
  .regex(/^[\x21-\x7e]+$/, 'must consist of printable ASCII characters without spaces')
  .describe('Token for the git host. Write-only.')
  .meta({ examples: ['glpat-write-only'] });

export const createIntegrationSchema = z
  .strictObject({
    name: integrationNameSchema,
    provider: z.enum(GIT_PROVIDERS).describe('Product of the git host. git: any other git server.'),
    host_url: gitHostUrlSchema
      .describe('https URL of the git host. The token is used only for this host. The URL cannot be changed.')
      .meta({ examples: ['https://git.example.com'] }),
    token: tokenSchema,
  })
  .meta({ id: 'CreateIntegration', description: 'The integration to create.' });

export const patchIntegrationSchema = z
  .strictObject({ name: integrationNameSchema.optional(), token: tokenSchema.optional() })
  .meta({ id: 'UpdateIntegration', description: 'The changes. Absent fields keep their value.' });

export const integrationSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    tenant_id: uuidSchema.describe('Owner.'),
    name: z.string().describe('Name.'),
    provider: z.enum(GIT_PROVIDERS).describe('Product of the git host.'),
    host_url: z
      .string()
      .describe('URL of the git host.')
      .meta({ examples: ['https://git.example.com'] }),
    takes_webhooks: z
      .boolean()
      .describe(
        'True if the integration has a webhook secret. An integration without a webhook secret accepts no webhooks.',
      ),
    created_at: timeSchema.describe('Time of creation.'),
    updated_at: timeSchema.describe('Time of the last change of name, token or webhook secret.'),
  })
  .meta({ id: 'Integration', description: 'Credentials for a git host. Responses never contain the token.' });

export const integrationListSchema = pageSchema(
  'IntegrationPage',
  integrationSchema,
  'A page of integrations.',
);

const repositorySchema = z
  .object({
    full_name: z.string().describe('Name of the repository with its owner or group.'),
    repo_url: z.string().describe('Clone URL, which is the value for repo_url of a deployment.'),
    default_branch: z.string().nullable().describe('Default branch. null: the repository is empty.'),
    private: z
      .boolean()
      .nullable()
      .describe('True if the repository is private. null: the git host does not report this.'),
  })
  .meta({ id: 'Repository', description: 'A repository that the token can read.' });

export const repositoryListSchema = pageSchema(
  'RepositoryPage',
  repositorySchema,
  'A page of repositories. An empty page follows the last page.',
  'Repositories in the order of the git host.',
);

/** An integration in a response. */
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
