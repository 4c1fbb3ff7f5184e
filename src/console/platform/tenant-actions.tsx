import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { platformApi, read } from '../api/client.ts';
import type { Tenant } from '../api/types.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { TextField } from '../ui/fields/text-field.tsx';
import { isolated } from '../ui/isolated.ts';
import {
  QUOTAS,
  type QuotaChanges,
  quotaOptions,
  quotaTextsOf,
  realChanges,
  withQuotas,
} from './quota-form.ts';
import { useRequestAgain } from './use-request-again.ts';

export function CreateTenant() {
  const { tenantId } = useTenantApi();
  const [name, setName] = useState('');
  const body = { name: name.trim() };
  const action = useMutation({
    mutationFn: () => read(platformApi.POST('/v2/tenants', { body })),
    onSuccess: useRequestAgain(),
  });
  return (
    <ActionDialog
      opens="Create a tenant"
      title="Create a tenant"
      acts="Create"
      action={action}
      onClose={() => setName('')}
      command={
        <ShowCommand
          title="Create the tenant"
          request={{ method: 'POST', path: '/v2/tenants', tenantId, body }}
          berth={commandLine('berth', 'tenants', 'create', body.name)}
        />
      }
    >
      <TextField label="Name" value={name} onChange={setName} required />
    </ActionDialog>
  );
}

interface TenantActionProps {
  readonly tenant: Tenant;
}

/** The body of the request, or null while a text is wrong. */
function bodyOf(...given: Parameters<typeof withQuotas>) {
  try {
    return { quotas: withQuotas(...given) };
  } catch {
    return null;
  }
}

/**
 * Changes some quotas. A request replaces all of them, so the others are read first: someone else may have changed them since the page was
 * shown.
 */
async function saveQuotas(tenantId: string, changes: QuotaChanges) {
  const params = { path: { tenant_id: tenantId } };
  const stored = await read(platformApi.GET('/v2/tenants/{tenant_id}', { params }));
  const body = { quotas: withQuotas(stored, changes) };
  return read(platformApi.PATCH('/v2/tenants/{tenant_id}', { params, body }));
}

export function EditQuotas({ tenant }: TenantActionProps) {
  const { tenantId } = useTenantApi();
  const { id, name } = tenant;
  const stored = quotaTextsOf(tenant);
  // What was not typed follows what is stored.
  const [typed, setTyped] = useState<QuotaChanges>({});
  const changes = realChanges(stored, typed);
  const body = bodyOf(tenant, changes);
  const action = useMutation({
    mutationFn: () => saveQuotas(id, changes),
    onSuccess: useRequestAgain(),
  });
  const options = quotaOptions(changes);
  const request = { method: 'PATCH', path: `/v2/tenants/${id}`, tenantId, body } as const;
  return (
    <ActionDialog
      opens="Quotas"
      of={`of ${name}`}
      title={`Quotas of ${isolated(name)}`}
      acts="Save"
      action={action}
      onClose={() => setTyped({})}
      command={
        body !== null && (
          <ShowCommand
            title="Set the quotas"
            request={request}
            {...(options === null || options.length === 0
              ? {}
              : { berth: commandLine('berth', 'tenants', 'update', name, ...options) })}
          />
        )
      }
    >
      <p>
        A number, <code>none</code> for no limit, or empty for the quota of the policy. A quota below the
        usage stops no deployment.
      </p>
      {QUOTAS.map(([quota, label]) => (
        <TextField
          key={quota}
          label={label}
          value={typed[quota] ?? stored[quota]}
          onChange={(value) => setTyped({ ...typed, [quota]: value })}
        />
      ))}
    </ActionDialog>
  );
}

export function DeleteTenant({ tenant: { id, name } }: TenantActionProps) {
  const { tenantId } = useTenantApi();
  const params = { path: { tenant_id: id } };
  const action = useMutation({
    mutationFn: () => read(platformApi.DELETE('/v2/tenants/{tenant_id}', { params })),
    onSuccess: useRequestAgain(),
  });
  return (
    <ActionDialog
      opens="Delete"
      of={name}
      title={`Delete the tenant ${isolated(name)}`}
      acts="Delete the tenant"
      isDanger
      action={action}
      confirms={{ what: 'the tenant', name }}
      command={
        <ShowCommand
          title="Delete the tenant"
          request={{ method: 'DELETE', path: `/v2/tenants/${id}`, tenantId }}
          berth={commandLine('berth', 'tenants', 'delete', name)}
        />
      }
    >
      <p>
        Its API keys, tags, integrations and tracing projects are deleted too. A tenant with deployments or
        listeners cannot be deleted.
      </p>
    </ActionDialog>
  );
}
