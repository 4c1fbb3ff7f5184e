/** The text of docs/resource-spec.md: the Kubernetes fields that each field of resource_spec sets. `npm run docs` writes it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cell } from './markdown.ts';
import type { FieldRow, FieldTarget } from './resource-spec/field-row.ts';
import { FIELD_ROWS } from './resource-spec/field-rows.ts';
import { POD_SETTING_ROWS } from './resource-spec/pod-setting-rows.ts';
import { RUN_SETTINGS_ROWS } from './resource-spec/run-settings-rows.ts';

const path = fileURLToPath(new URL('../docs/resource-spec.md', import.meta.url));

const HEAD = `<!-- Generated from scripts/resource-spec/ by \`npm run docs\`. Do not edit. -->
# Kubernetes fields that each field of resource_spec sets

In this table, \`<app>\` is the base name of all objects of the deployment. \`<component>\` stands for each component: api, and queue,\norchestrator or executor if the request has a field with that prefix, or a command for it. \`<name>\` is the name of an entry of a list, or the mountPath\nof a mount. \`containers[app]\` is the entry with the name \`app\`. A test compares every line with the rendered objects.

| field | object | path | how it appears |
| --- | --- | --- | --- |
`;

const RUN_SETTINGS = `
## Run settings

\`port\`, \`commands\` and \`env\` are fields of source_revision_config ([image-contract.md](image-contract.md#ordinary-images)).
\`secret_references\` is a field beside \`secrets\` ([secret-references.md](secret-references.md)).

| field | object | path | how it appears |
| --- | --- | --- | --- |
`;

const POD_SETTINGS = `
## Settings of pods

[pod-settings.md](pod-settings.md) describes these optional fields of \`source_config\`. The rows show the component api. The other
components are set in the same way.

| field | object | path | how it appears |
| --- | --- | --- | --- |
`;

const TAIL = `
## Ephemeral storage

The containers of app, database and cache get \`requests.ephemeral-storage\` and \`limits.ephemeral-storage\` from the settings
\`BERTH_EPHEMERAL_STORAGE_REQUEST\` (64Mi) and \`BERTH_EPHEMERAL_STORAGE_LIMIT\` (50Gi) of the operator. The limit of an app is higher by
the \`sizeLimit\` of its emptyDir volumes on disk. Sidecars and init containers keep the resources that were sent. A change of these
settings restarts nothing: it takes effect at the next revision, and for database and cache when their settings change.

## Security

Pods get the default seccomp profile of the container runtime. By default, containers run without privilege escalation and with all\ncapabilities dropped. If a container sets capabilities or is privileged, its own values stay. The field [\`security_profile\`](pod-settings.md#security-profile) changes the default. In cloud mode, absent fields get the values\nof the Pod Security level *restricted* (\`runAsNonRoot: true\`, \`capabilities.drop: [ALL]\`). Database and cache always run with these\nvalues and with a read-only root file system.
`;

function appearance({ shown = 'as sent', when }: FieldTarget): string {
  return when === undefined ? shown : `${shown}, if ${when}`;
}

function lines({ field, targets, note }: FieldRow): string[] {
  return targets.map((target, index) => {
    const more = index === 0 && note !== undefined ? `. ${note}` : '';
    const cells = [
      index === 0 ? `\`${field}\`` : '',
      target.object.replace(/<[^>]+>\S*/, (name) => `\`${name}\``),
      `\`${target.path}\``,
      `${appearance(target)}${more}`,
    ];
    return `| ${cells.map(cell).join(' | ')} |`;
  });
}

/** The current text of the page. */
export function resourceSpecDoc(): string {
  const [spec, run, pods] = [FIELD_ROWS, RUN_SETTINGS_ROWS, POD_SETTING_ROWS].map(
    (rows) => `${rows.flatMap(lines).join('\n')}\n`,
  );
  return `${HEAD}${spec}${RUN_SETTINGS}${run}${POD_SETTINGS}${pods}${TAIL}`;
}

/** The stored text of the page. */
export function storedResourceSpecDoc(): string {
  return readFileSync(path, 'utf8');
}
