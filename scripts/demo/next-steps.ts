import { quoted } from '../../src/cli/client/table.ts';
import { appName } from '../../src/contract/resource/names.ts';
import type { Created } from './samples.ts';
import type { DemoStack } from './stack.ts';

const HELLO = {
  name: 'hello',
  source: 'internal_image',
  source_config: {},
  source_revision_config: { image_uri: 'registry.example/hello:1' },
  secrets: [],
};

/** Commands for one of the samples. Empty without samples. */
function aboutSample(namespace: string, sample: Created | undefined): string {
  if (sample === undefined) return '';
  return `
  kubectl get all -n ${namespace} -l berth.dev/deployment-id=${sample.id}
  kubectl describe mdep -n ${namespace} ${appName(sample.name, sample.id)}`;
}

/** Commands to try while the demo runs. Users can paste each of them into a shell. */
export function nextSteps(stack: DemoStack, envFile: string, samples: readonly Created[]): string {
  const namespace = stack.namespace ?? `berth-${stack.tenantId}`;
  return `
Berth is up. In another terminal, in this folder:

  set -a; . ${envFile}; set +a          # BERTH_URL, BERTH_API_KEY, BERTH_TENANT_ID, DATABASE_URL, KUBECONFIG
  alias kubectl=${quoted(quoted(stack.kubectlPath))}

  curl -s -H "X-Api-Key: $BERTH_API_KEY" "$BERTH_URL/v2/deployments?limit=5"
  curl -s -H "X-Api-Key: $BERTH_API_KEY" -H 'Content-Type: application/json' -d '${JSON.stringify(HELLO)}' "$BERTH_URL/v2/deployments?dry_run=true"
  kubectl get mdep -A${aboutSample(namespace, samples.at(-1))}
  kubectl explain mdep.spec

  API     ${stack.url}   docs: ${stack.url}/docs
  logs    ${stack.logPath}

Ctrl-C stops everything and cleans up.`;
}
