/** The text of docs/resource-spec.md: the Kubernetes fields that each field of resource_spec sets. `npm run docs` writes it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FieldRow, FieldTarget } from './resource-spec/field-row.ts';
import { FIELD_ROWS } from './resource-spec/field-rows.ts';

const path = fileURLToPath(new URL('../docs/resource-spec.md', import.meta.url));

const HEAD = `<!-- Generated from scripts/resource-spec/ by \`npm run docs\`. Do not edit. -->
# Kubernetes fields that each field of resource_spec sets

\`<app>\` is the base name of all objects of the deployment. \`<component>\` is each of its components: api, and queue,
orchestrator and executor if a field with that prefix is present. \`<name>\` is the name of the list entry (for mounts: the
mountPath). \`containers[app]\` is the entry with that name. A test checks every row against the rendered objects.

| field | object | path | how it appears |
| --- | --- | --- | --- |
`;

const TAIL = `
## Security

Pods use the seccomp profile of the container runtime. By default, a container runs without privilege escalation and with
all capabilities dropped. A container that sets capabilities or is privileged keeps its own values. In the hosting mode cloud,
absent fields get the values of Pod Security *restricted* (\`runAsNonRoot: true\`, \`capabilities.drop: [ALL]\`). Database and
cache always run with these values and a read-only root file system.
`;

/** Table cells: a bar would end them. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function appearance({ shown = 'as sent', when }: FieldTarget): string {
  return when === undefined ? shown : `${shown}; if ${when}`;
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

/** The text of the file as it should be. */
export function resourceSpecDoc(): string {
  return `${HEAD}${FIELD_ROWS.flatMap(lines).join('\n')}\n${TAIL}`;
}

/** The text of the file as it is. */
export function storedResourceSpecDoc(): string {
  return readFileSync(path, 'utf8');
}
