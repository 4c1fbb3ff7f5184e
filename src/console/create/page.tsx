import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { policyQuery } from '../api/policy.ts';
import { Problem } from '../api/problem.ts';
import type { Policy } from '../api/types.ts';
import change from '../change/change.module.css';
import { withoutValues } from '../change/masked.ts';
import { PlanSection } from '../change/plan-section.tsx';
import { useFollow } from '../change/use-change.ts';
import { commandLine } from '../commands/commands.ts';
import { ShowCommand } from '../commands/show-command.tsx';
import { DocumentEditor } from '../edit/document-editor.tsx';
import { type Draft, documentOfDraft, draftOf, placed } from '../edit/draft.ts';
import { ErrorSummary } from '../edit/error-summary.tsx';
import { hintsOf } from '../edit/hints.ts';
import { useLeaveGuard } from '../edit/leave-guard.tsx';
import { sameJson } from '../form/json.ts';
import { useScope } from '../session/use-scope.ts';
import { Page } from '../shell/page.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import { Button } from '../ui/button.tsx';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { FolderGuide } from './folder-guide.tsx';
import { KINDS, type Kind, LABELS } from './kind-of.ts';
import { buildsRepositories, createField, createLead, samplesFor, sourceOf, startOf } from './kinds.ts';
import { RepositoryChoice } from './repository-choice.tsx';
import { SampleChoice } from './sample-choice.tsx';
import { useCreation } from './use-creation.ts';

const NOTHING_STORED = { names: new Set<string>(), reveal: null } as const;
const NO_ERRORS: Problem['fields'] = [];

function KindLinks({ kind }: { readonly kind: Kind }) {
  const { tenantId } = useTenantApi();
  return (
    <nav aria-label="Source of the deployment" className={change['buttons']}>
      {KINDS.map((each) => (
        <Link
          key={each}
          to="/t/$tenantId/new"
          params={{ tenantId }}
          search={{ from: each }}
          replace
          {...(each === kind ? { 'aria-current': 'page' as const } : {})}
        >
          {LABELS[each]}
        </Link>
      ))}
    </nav>
  );
}

interface CreateFormProps {
  readonly kind: Exclude<Kind, 'folder'>;
  readonly isShown: boolean;
  /** null: not known. */
  readonly policy: Policy | null;
}

/** The form of one kind. It stays mounted while another one is shown, so that nothing typed is lost. */
function CreateForm({ kind, isShown, policy }: CreateFormProps) {
  const hosting = policy?.hosting ?? null;
  const [start] = useState(() => startOf(kind, hosting));
  const [draft, setDraft] = useState<Draft>({ kind: 'form', document: start });
  const document = documentOfDraft(draft);
  const source = sourceOf(document, kind);
  const field = useMemo(() => createField(source, hosting), [source, hosting]);
  const hintOf = useMemo(() => hintsOf({ deployment: null, document, policy }), [document, policy]);
  const { tenantId } = useTenantApi();
  const follow = useFollow();
  const guard = useLeaveGuard(document === null || !sameJson(document, start));
  const { plan, create, error } = useCreation((created) => {
    guard.allow();
    void follow(created);
  });
  const planned = plan.data;
  const isPlanned = planned !== undefined && document !== null && sameJson(planned.body, document);
  const errors = error instanceof Problem ? error.fields : NO_ERRORS;
  const choice = {
    document: document ?? start,
    onChange: (next: typeof start) => setDraft(draftOf(next, draft.kind)),
  };
  if (!isShown) return guard.dialog;
  return (
    <div className={change['editor']}>
      {guard.dialog}
      {kind === 'repository' && <RepositoryChoice {...choice} />}
      {kind === 'sample' && <SampleChoice samples={samplesFor(hosting)} {...choice} />}
      <DocumentEditor
        field={field}
        draft={draft}
        onChange={setDraft}
        errors={errors}
        hintOf={hintOf}
        stored={NOTHING_STORED}
        lead={createLead(source)}
      />
      {errors.length > 0 && <ErrorSummary errors={placed(draft, errors)} />}
      {error !== null && errors.length === 0 && <ProblemNotice error={error} />}
      <div className={change['buttons']}>
        <Button
          variant={isPlanned ? 'plain' : 'primary'}
          isBusy={plan.isPending}
          disabled={document === null}
          onClick={() => {
            create.reset();
            if (document !== null) plan.mutate(document);
          }}
        >
          Plan
        </Button>
        {document !== null && (
          <ShowCommand
            title="Create this deployment"
            request={{ method: 'POST', path: '/v2/deployments', tenantId, body: withoutValues(document) }}
            berth={commandLine('berth', 'deployments', 'create', '--file', 'deployment.yaml', '--wait')}
          />
        )}
      </div>
      {isPlanned && (
        <PlanSection plan={planned.plan} before={[]}>
          <p>
            <Button variant="primary" isBusy={create.isPending} onClick={() => create.mutate(planned)}>
              Create
            </Button>
          </p>
        </PlanSection>
      )}
    </div>
  );
}

/** The forms, once the policy is known, or cannot be requested. */
function CreateForms({ kind }: { readonly kind: Kind }) {
  const { data: policy = null, isPending } = useQuery(policyQuery(useTenantApi()));
  if (isPending) return <Loading what="the policy" />;
  const isBuilt = buildsRepositories(policy?.hosting ?? null);
  return (
    <>
      {kind === 'repository' && !isBuilt && (
        <p>This platform builds no repositories (hosting mode self_hosted). Deploy an image instead.</p>
      )}
      {FORMS.map((each) => (
        <CreateForm
          key={each}
          kind={each}
          isShown={each === kind && (each !== 'repository' || isBuilt)}
          policy={policy}
        />
      ))}
    </>
  );
}

const FORMS = ['image', 'repository', 'sample'] as const;

/** Creates a deployment. */
export function CreatePage() {
  const { from: kind = 'image' } = useSearch({ from: '/t/$tenantId/new' });
  const isAllowed = useScope('deployments:write');
  return (
    <Page title="Create a deployment">
      {isAllowed ? (
        <>
          <KindLinks kind={kind} />
          <CreateForms kind={kind} />
          {kind === 'folder' && <FolderGuide />}
        </>
      ) : (
        <p>You may not create deployments: the session does not have the scope deployments:write.</p>
      )}
    </Page>
  );
}
