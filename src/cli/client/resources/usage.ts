import type { Command } from 'commander';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME } from '../../command/output.ts';
import { calling, callsApi } from '../call.ts';
import { show } from '../context.ts';
import { cell, table } from '../table.ts';

/** `berth usage`. */

export function buildUsage(made: Command, host: Host): void {
  callsApi(made, FORMATS_WITHOUT_NAME).action(
    calling(host, async (context) => {
      const answer = await context.client.GET('/v2/usage', {});
      const { usage, quotas } = answer;
      const limits: Readonly<Record<string, number | null>> = quotas;
      const rows = () =>
        Object.entries(usage).map(([name, used]) => [
          name,
          cell(used),
          name in limits ? cell(limits[name] ?? 'none') : cell(null),
        ]);
      await show(context, answer, { table: () => table(['RESOURCE', 'USED', 'QUOTA'], rows()) });
      return undefined;
    }),
  );
}
