import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { AccessToken } from '../api/types.ts';
import { stringifySearch } from '../app/search.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { ListPage } from '../list/list-page.tsx';
import { isAdminOf } from '../session/rights.ts';
import { useSession } from '../session/session-gate.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import fields from '../ui/fields/fields.module.css';
import { StateMark } from '../ui/mark.tsx';
import { Time } from '../ui/time.tsx';
import { useNow } from '../ui/use-now.ts';
import { type TokenFilters, tokenFiltersOf, tokenOptions } from './filters.ts';
import { keyState } from './key-state.ts';
import { tokensQuery } from './queries.ts';
import { RevokeToken, SignOutPerson } from './token-actions.tsx';

const COLUMNS = [
  'Machine or pipeline',
  'State',
  'Begins with',
  'Roles',
  'Created',
  'Expires',
  'Last used',
  'Actions',
];

interface RowProps {
  readonly token: AccessToken;
  readonly isStale: boolean;
}

function Row({ token, isStale }: RowProps) {
  const { name, kind, prefix, roles, person_id: personId } = token;
  const session = useSession();
  const state = keyState(token, useNow());
  const tone = state === 'valid' ? 'good' : 'off';
  const isOfOther = personId !== null && personId !== session.actor_id;
  return (
    <tr>
      <th scope="row">
        <bdi>{name}</bdi>
        {kind === 'workload' && ' (pipeline)'}
      </th>
      <td>
        <StateMark tone={tone} text={state} isStale={isStale} />
      </td>
      <td>
        <code>{prefix}</code>
      </td>
      <td>{roles.join(', ')}</td>
      <td>
        <Time at={token.created_at} />
      </td>
      <td>
        <Time at={token.expires_at} />
      </td>
      <td>{token.last_used_at === null ? 'never' : <Time at={token.last_used_at} />}</td>
      <td>
        <div className={fields['row']}>
          {state === 'valid' && <RevokeToken token={token} />}
          {isOfOther && session.platform_scopes.includes('admin') && (
            <SignOutPerson personId={personId} machine={name} />
          )}
        </div>
      </td>
    </tr>
  );
}

function FilterBox({
  name,
  label,
  filters,
}: {
  readonly name: keyof TokenFilters;
  readonly label: string;
  readonly filters: TokenFilters;
}) {
  const navigate = useNavigate();
  const { tenantId } = useTenantApi();
  const toggled = (isOn: boolean) => tokenFiltersOf({ ...filters, [name]: isOn ? 'true' : '' });
  return (
    <label>
      <input
        type="checkbox"
        checked={filters[name] === 'true'}
        onChange={({ target }) =>
          void navigate({
            to: '/t/$tenantId/tokens',
            params: { tenantId },
            search: toggled(target.checked),
            replace: true,
          })
        }
      />{' '}
      {label}
    </label>
  );
}

/** The access tokens of the person, and for admins those of the tenant. */
export function TokensPage() {
  const filters = useSearch({ from: '/t/$tenantId/tokens' });
  const api = useTenantApi();
  const isAdmin = isAdminOf(useSession(), api.tenantId);
  return (
    <ListPage
      title="Access tokens"
      what="the access tokens"
      columns={COLUMNS}
      query={useInfiniteQuery(tokensQuery(api, filters))}
      empty="There is no access token"
      actions={
        <ShowCommand
          title="List these access tokens"
          request={{ path: `/v2/auth/tokens${stringifySearch(filters)}`, tenantId: api.tenantId }}
          berth={commandLine('berth', 'tokens', 'list', ...tokenOptions(filters))}
        />
      }
      row={(token, isStale) => <Row key={token.id} token={token} isStale={isStale} />}
    >
      <p>
        <code>berth login</code> and pipelines get access tokens. Your own tokens of all tenants are listed,
        or those of everyone in this tenant. A revoked token is rejected at once.
      </p>
      <div className={fields['row']}>
        {isAdmin && (
          <FilterBox name="all" label="Of all people and pipelines of the tenant" filters={filters} />
        )}
        <FilterBox name="ended" label="Ended, too" filters={filters} />
      </div>
    </ListPage>
  );
}
