import type { Command } from 'commander';
import { command, describe, repeatedOption, valueOption, wholeNumber } from '../command/command.ts';
import type { Host } from '../command/host.ts';
import { type Format, outputOption } from '../command/output.ts';

/** Commands for administrators that read or repair an installation. */

const RESYNC = `Makes the running API send every tracing project to the tracing backend (BERTH_TRACING_URL) again. Use it if the backend
was replaced or has lost its data. The API also sends deletions that the old backend did not accept. Needs DATABASE_URL.`;

export function buildTracing(made: Command): void {
  made.addCommand(
    command('resync', 'send every tracing project to the tracing backend again', RESYNC).action(async () => {
      const [{ resync }, { adminSession }] = await Promise.all([
        import('./tracing-resync.ts'),
        import('./session.ts'),
      ]);
      await resync(adminSession());
    }),
  );
}

const EXPORT = `Prints the objects that Berth created for a deployment as plain Kubernetes objects, from the cluster of the kubeconfig. Use
it to read them, or to stop using Berth without an outage. The command changes nothing, and prints no values of Secrets.`;

export function buildExport(made: Command, host: Host): void {
  describe(made, EXPORT)
    .argument('<deployment>', 'name of the ManagedDeployment, or name or id of the deployment')
    .addOption(
      valueOption(
        '-n, --namespace <namespace>',
        'namespace to search; default: the namespaces of BERTH_NAMESPACES, or all',
      ),
    )
    .addOption(
      valueOption(
        '--revision <number>',
        'use the pod templates of this revision; default: of the active one',
        wholeNumber('--revision', 1, 999_999_999),
      ),
    )
    .addOption(
      valueOption(
        '-o, --output <folder>',
        'write a folder for kubectl apply -k, with a README.md that describes the migration. It must be empty or not ' +
          'exist. Default: one stream to standard output',
      ),
    )
    .action(async (name: string, options) => {
      const { exportCommand } = await import('./export.ts');
      await exportCommand({ name, ...options }, host.version);
    });
}

const PREVIEW = `Lists, for each deployment of the cluster, the differences between the pods of this version and the running pods. An
upgrade restarts nothing, because pods are created from the templates that were stored with their revision. The listed
changes take effect at the next revision of the deployment, and for database and cache when their settings change. Lines
that begin with "with the upgrade" take effect at once.
Lines that begin with "would be refused" name each field that this version rejects, and the reason. Pods with a rejected
field keep running. This version rejects the field when it changes, or when a new revision is created.
Run the new version before you install it, with the settings of the operator and a kubeconfig with its rights. The command
changes nothing.

With -o json: {"version", "changed", "refused", "deployments": [{"namespace", "name", "revision", "changes", "refused":
[{"field", "why", "until"}], "identity", "problem"}]}. With -o name: the affected deployments.

Exit code: 0 if nothing would change or be rejected. 2 if something would, or if the options are wrong (then standard
output is empty). 1 if the command failed or a deployment cannot be read.`;

export function buildUpgradePreview(made: Command, host: Host): void {
  describe(made, PREVIEW)
    .addOption(
      repeatedOption(
        '--values <file>',
        'read the values of the Helm chart, as helm get values -o yaml prints them: the policy file and the namespaces ' +
          'of rbac.listenerNamespaces. May be given several times; a later file wins',
      ),
    )
    .addOption(outputOption())
    .action(async (options: { values?: string[]; output: Format }) => {
      const [{ upgradePreviewCommand }, { adminSession }] = await Promise.all([
        import('./upgrade-preview.ts'),
        import('./session.ts'),
      ]);
      host.exitCode = await upgradePreviewCommand(adminSession(), options, host.version);
    });
}
