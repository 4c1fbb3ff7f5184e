import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { curlCommand } from '../../../src/console/commands/commands.ts';
import { shellQuote } from '../../../src/console/commands/shell-quote.ts';

describe('shellQuote', () => {
  test.each([
    'shop',
    'a b',
    "it's",
    '$(rm -rf /)',
    '`id`',
    'a\nb',
    '"',
    '\\',
    'tab\there',
    'ümlaut 😀',
    "a'\n\\b",
  ])('a shell reads %j as one word', (word) => {
    const script = `printf %s ${shellQuote(word)}`;
    expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' })).toBe(word);
  });

  test('shows characters that change the direction of a line', () => {
    expect(shellQuote('a\u202eb')).toBe("$'a\\u202eb'");
  });
});

test('curlCommand contains the request, and the key as a variable', () => {
  const text = curlCommand('https://berth.example.com', {
    method: 'POST',
    path: '/v2/deployments?dry_run=true',
    tenantId: 't1',
    body: { name: "it's" },
  });
  expect(text.replaceAll(' \\\n  ', ' ')).toBe(
    `curl -sS -X POST -H "X-Api-Key: $BERTH_API_KEY" -H 'X-Tenant-Id: t1' -H 'Content-Type: application/json' ` +
      `--data-binary '{"name":"it'\\''s"}' 'https://berth.example.com/v2/deployments?dry_run=true'`,
  );
});
