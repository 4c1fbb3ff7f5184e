import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seedDeployments } from '../../bench/api/seed.ts';

/** As another version might seal. */
const OTHER_BOX = `
export const createSecretBox = ({ primary }) => ({ primary });
export const sealSecrets = (box, tenantId, deploymentId) => ({
  id: 'set-of-' + deploymentId,
  sealed: Buffer.from([box.primary, tenantId, deploymentId].join(' ')),
});
`;

test('secrets of seeded rows are sealed as the checkout seals whose Berth reads them', async () => {
  const root = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  try {
    mkdirSync(join(root, 'src/hub/store/secrets'), { recursive: true });
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(root, 'src/hub/store/secrets/secret-box.ts'), OTHER_BOX);
    const written = new Map<string, { id: string; sealed: string }[]>();
    const hub = {
      root,
      encryptionKey: { id: 'bench', key: randomBytes(32) },
      async sql<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
        const table = /^INSERT INTO (\w+)/.exec(text)?.[1];
        if (table !== undefined) written.set(table, JSON.parse(String(values[1])));
        const original = { secrets_id: 'old', tenant_id: 'tenant', source_config: { resource_spec: {} } };
        return (text.startsWith('SELECT secrets_id') ? [original] : []) as unknown as Row[];
      },
    };
    const [id = ''] = await seedDeployments(hub, 'pattern', 1);
    const [row] = written.get('secret_sets') ?? [];
    expect(row?.id).toBe(`set-of-${id}`);
    expect(Buffer.from(row?.sealed.slice(2) ?? '', 'hex').toString()).toBe(`bench tenant ${id}`);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
