import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId, useState } from 'react';
import form from '../form/form.module.css';
import type { JsonObject } from '../form/json.ts';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { withRepository } from './kinds.ts';
import { integrationsQuery, MAX_REPOSITORIES, repositoriesQuery } from './requests.ts';

interface RepositoryChoiceProps {
  readonly document: JsonObject;
  readonly onChange: (document: JsonObject) => void;
}

interface RepositoriesProps extends RepositoryChoiceProps {
  readonly integrationId: string;
}

function Repositories({ integrationId, document, onChange }: RepositoriesProps) {
  const id = useId();
  const { data, error, isPending, refetch } = useQuery(repositoriesQuery(useTenantApi(), integrationId));
  if (isPending) return <Loading what="the repositories" />;
  if (error !== null) return <ProblemNotice error={error} onRetry={() => void refetch()} />;
  const choose = (url: string) => {
    const chosen = data.find(({ repo_url: each }) => each === url);
    if (chosen !== undefined) onChange(withRepository(document, integrationId, chosen));
  };
  return (
    <div className={form['field']}>
      <label htmlFor={id}>Repository</label>
      <select id={id} value="" onChange={({ target }) => choose(target.value)}>
        <option value="">{data.length === 0 ? 'No repository' : 'Choose …'}</option>
        {data.map(({ full_name: name, repo_url: url, private: isPrivate }) => (
          <option key={url} value={url}>
            {name}
            {isPrivate === true && ' (private)'}
          </option>
        ))}
      </select>
      <p className={form['help']}>
        The choice fills in URL, branch and name.
        {data.length === MAX_REPOSITORIES &&
          ` The list has the first ${MAX_REPOSITORIES} repositories. For another one, type its URL below.`}
      </p>
    </div>
  );
}

/** Fills in the fields of a repository from the list of an integration. */
export function RepositoryChoice(props: RepositoryChoiceProps) {
  const id = useId();
  const [integrationId, setIntegrationId] = useState('');
  const api = useTenantApi();
  const { data, error, isPending, refetch } = useQuery(integrationsQuery(api));
  if (isPending) return <Loading what="the integrations" />;
  if (error !== null) return <ProblemNotice error={error} onRetry={() => void refetch()} />;
  if (data.length === 0)
    return (
      <p>
        The tenant has no integration with a git host, so type the URL of a public repository. For others,{' '}
        <Link to="/t/$tenantId/platform/integrations" params={{ tenantId: api.tenantId }}>
          create an integration
        </Link>{' '}
        first.
      </p>
    );
  return (
    <>
      <div className={form['field']}>
        <label htmlFor={id}>Integration</label>
        <select id={id} value={integrationId} onChange={({ target }) => setIntegrationId(target.value)}>
          <option value="">Choose …</option>
          {data.map(({ id: each, name, host_url: host }) => (
            <option key={each} value={each}>
              {name} ({host})
            </option>
          ))}
        </select>
      </div>
      {integrationId !== '' && <Repositories key={integrationId} integrationId={integrationId} {...props} />}
    </>
  );
}
