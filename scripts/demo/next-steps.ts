import { quoted } from '../../src/cli/client/table.ts';
import { appName } from '../../src/contract/resource/names.ts';
import type { Created } from './samples.ts';
import type { DemoStack } from './stack.ts';

/** A body for a dry run. The image of an internal_image must be in the registry of the platform, if there is one. */
function hello({ namespace, builds }: DemoStack) {
  const image = builds !== null && namespace === null ? {} : { image_uri: 'registry.example/hello:1' };
  const source = namespace === null ? 'internal_image' : 'external_image';
  return { name: 'hello', source, source_config: {}, source_revision_config: image, secrets: [] };
}

/** Commands for one of the samples. Empty without samples. */
function aboutSample(namespace: string, sample: Created | undefined): string {
  if (sample === undefined) return '';
  return `
  kubectl get all -n ${namespace} -l berth.dev/deployment-id=${sample.id}
  kubectl describe mdep -n ${namespace} ${appName(sample.name, sample.id)}`;
}

/** The sample folder. Its base image is one of those that the demo has. */
const FOLDER = 'test/samples/repositories/node';

/** The command that deploys a folder, or the demo that can build it. */
function aboutFolder({ builds, offersBuilds }: DemoStack): string {
  if (builds !== null)
    return `
  alias berth='npm run -s berth --'
  berth deploy my-folder ${FOLDER}     # packs, uploads and builds the folder, and waits until it serves`;
  return offersBuilds
    ? '\n  npm run demo -- --builds      # another demo, in which berth deploy NAME FOLDER builds a folder'
    : '';
}

/** Commands to try while the demo runs. Users can paste each of them into a shell. */
export function nextSteps(stack: DemoStack, envFile: string, samples: readonly Created[]): string {
  const namespace = stack.namespace ?? `berth-${stack.tenantId}`;
  return `
Berth is up. In another terminal, in this folder:

  set -a; . ${envFile}; set +a          # BERTH_URL, BERTH_API_KEY, BERTH_TENANT_ID, DATABASE_URL, KUBECONFIG
  alias kubectl=${quoted(quoted(stack.kubectlPath))}

  curl -s -H "X-Api-Key: $BERTH_API_KEY" "$BERTH_URL/v2/deployments?limit=5"
  curl -s -H "X-Api-Key: $BERTH_API_KEY" -H 'Content-Type: application/json' -d '${JSON.stringify(hello(stack))}' "$BERTH_URL/v2/deployments?dry_run=true"
  kubectl get mdep -A${aboutSample(namespace, samples.at(-1))}
  kubectl explain mdep.spec${aboutFolder(stack)}

  console http://localhost:${new URL(stack.url).port}/console   sign in with this API key: ${stack.apiKey}
  API     ${stack.url}   docs: ${stack.url}/docs
  logs    ${stack.logPath}

Ctrl-C stops everything and cleans up.`;
}
