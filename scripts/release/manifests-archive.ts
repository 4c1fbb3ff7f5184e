/** The manifests of a release: rendered profiles that name the image by digest, and the files that do not need Helm. */
import { join } from 'node:path';
import { CRD_FILE } from '../../src/contract/crd/crd.ts';
import { TASK_CRD_FILE } from '../../src/contract/crd/task-crd.ts';
import { profiles, render } from '../manifests.ts';
import type { ImageName } from './chart.ts';
import { ROOT, type Source } from './source.ts';
import { folderEntries, type TarEntry, tarGz } from './tar.ts';

/** Folders of manifests/ that are copied as they are. */
const FOLDERS = ['argocd', 'monitoring'];

/** The setting that also names the image, so that builds run Berth. Kustomize does not know that it is an image. */
const IMAGE_SETTING = 'BERTH_BUILD_BERTH_IMAGE';

/**
 * The kustomization of a profile. It sets the name of the image, and keeps the digest.
 * @param manifests the rendered profile, in berth.yaml
 */
export function kustomization(manifests: string, repository: string): string {
  const name = JSON.stringify(repository);
  const ofSetting = `replacements:
  - source: { kind: Deployment, name: berth-operator, fieldPath: spec.template.spec.containers.0.image }
    targets:
      - select: { kind: ConfigMap, name: berth }
        fieldPaths: [data.${IMAGE_SETTING}]
`;
  return `# If you copied the image to another registry, set newName to its name there, without tag and digest. Then run kubectl apply -k
# with this folder.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [berth.yaml]
images:
  - name: ${name}
    newName: ${name}
${manifests.includes(`${IMAGE_SETTING}:`) ? ofSetting : ''}`;
}

/**
 * A folder for each profile, and the files that do not need Helm.
 * @param helm path of the program
 * @param chart folder of the chart of this release
 */
export async function manifestsArchive(
  helm: string,
  chart: string,
  { repository, digest }: ImageName,
  { version, timestamp }: Source,
): Promise<Buffer> {
  const entries: TarEntry[] = [];
  for (const profile of profiles()) {
    const content = await render(helm, profile, { chart, image: `${repository}@${digest}` });
    entries.push({ path: `${profile}/berth.yaml`, content });
    entries.push({ path: `${profile}/kustomization.yaml`, content: kustomization(content, repository) });
  }
  entries.push({ path: 'openapi.json', file: join(ROOT, 'manifests/openapi.json') });
  for (const file of [CRD_FILE, TASK_CRD_FILE]) entries.push({ path: file, file: join(ROOT, file) });
  for (const folder of FOLDERS) entries.push(...folderEntries(join(ROOT, 'manifests', folder), folder));
  const top = `berth-manifests-${version}`;
  return tarGz(
    entries.map((entry) => ({ ...entry, path: `${top}/${entry.path}` })),
    timestamp,
  );
}
