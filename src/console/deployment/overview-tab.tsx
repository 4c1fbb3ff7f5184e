import { RolloutTimeline } from '../timeline/timeline.tsx';
import { type Fact, Facts } from '../ui/facts.tsx';
import { StateMark } from '../ui/mark.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Time } from '../ui/time.tsx';
import { useDeployment } from './deployment-context.ts';
import { Domains } from './domains.tsx';
import { ExplanationSection } from './explanation.tsx';
import { Section } from './section.tsx';
import { shortId, toneOfCondition } from './status.ts';

function DeploymentFacts() {
  const { deployment } = useDeployment();
  const { active_revision_id: active, latest_revision_id: latest, last_observed_at: observedAt } = deployment;
  const { image_uri: image, repo_ref: ref } = deployment.source_revision_config;
  const facts: readonly Fact[] = [
    ['Image', image],
    ['Branch', ref],
    ['Active revision', active === null ? 'none' : shortId(active)],
    ['Latest revision', latest === null ? 'none' : shortId(latest)],
    ['Type', deployment.source_config.deployment_type],
    ['Id', deployment.id],
    ['Observed', observedAt === null ? 'never' : <Time key="observed" at={observedAt} />],
    ['Created', <Time key="created" at={deployment.created_at} />],
  ];
  return <Facts facts={facts} />;
}

function Conditions() {
  const { deployment, isStale } = useDeployment();
  return (
    <Section id="conditions" title="Conditions">
      {deployment.conditions.length === 0 && <p>Nothing has been observed yet.</p>}
      {deployment.conditions.length > 0 && (
        <ScrollTable label="Conditions" columns={['Condition', 'Status', 'Reason', 'Message', 'Since']}>
          {deployment.conditions.map((condition) => (
            <tr key={condition.type}>
              <th scope="row">{condition.type}</th>
              <td>
                <StateMark tone={toneOfCondition(condition)} text={condition.status} isStale={isStale} />
              </td>
              <td>{condition.reason}</td>
              <td>{condition.message}</td>
              <td>
                <Time at={condition.lastTransitionTime} />
              </td>
            </tr>
          ))}
        </ScrollTable>
      )}
    </Section>
  );
}

/** The first tab of a deployment. */
export const OverviewTab = () => (
  <>
    <ExplanationSection />
    <DeploymentFacts />
    <Domains />
    <Conditions />
    <RolloutTimeline />
  </>
);
