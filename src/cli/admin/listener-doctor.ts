import { readFileSync } from 'node:fs';
import { clusterOptions } from '../../app/cluster-access.ts';
import { createKubeClient, type KubeClient } from '../../cluster/kube/client/client.ts';
import { clusterFindings, noCluster } from '../../cluster/listener/doctor/cluster-findings.ts';
import { complete, type Finding, failed, ok } from '../../cluster/listener/doctor/finding.ts';
import { type HubProbeResult, hubFindings } from '../../cluster/listener/doctor/hub-findings.ts';
import { asText, isHealthy, report } from '../../cluster/listener/doctor/report.ts';
import { readClusterId } from '../../cluster/listener/session/cluster-facts.ts';
import { httpTransport } from '../../cluster/listener/session/http-transport.ts';
import { messageOf } from '../../cluster/listener/session/hub-client.ts';
import {
  type Config,
  ConfigError,
  describeUnknown,
  listenerKubeconfigSetting,
  loadConfig,
} from '../../config/index.ts';
import type { LeaseState } from '../../contract/protocol/lease-protocol.ts';
import { PLATFORM_LISTENER_ID } from '../../domain/deployment/source.ts';
import { type Format, printed } from '../command/output.ts';

/** `berth listener doctor`: checks everything that a listener needs, and changes nothing. */

const TIMEOUT_MS = 10_000;

/** The settings that all other checks need. */
interface Settings {
  readonly config: Config;
  readonly hubUrl: string;
  readonly key: string;
}

const problem = (message: string, next: string) => failed('settings', message, next);

function missing({ hubUrl, listenerKey, hubCaFile }: Config): Finding[] {
  const found: Finding[] = [];
  if (hubUrl === null) {
    found.push(
      problem('BERTH_HUB_URL is not set', 'set it to the URL of the API: https://berth.example.com'),
    );
  }
  if (listenerKey === null) {
    found.push(
      problem(
        'BERTH_LISTENER_KEY is not set',
        'create a key at the hub and set it: berth keys create --tenant NAME --name listener --scopes listeners:run',
      ),
    );
  } else if (!/^[\x21-\x7e]+$/.test(listenerKey)) {
    found.push(
      problem(
        'BERTH_LISTENER_KEY contains characters that are not valid in a key, such as a space or line break',
        'copy the key again, without surrounding characters',
      ),
    );
  }
  return hubCaFile === null ? found : [...found, ...caTrouble(hubCaFile)];
}

function caTrouble(path: string): Finding[] {
  const next =
    'set BERTH_HUB_CA to a PEM file with the certificate of the authority that issued the certificate of the hub';
  try {
    if (readFileSync(path, 'utf8').includes('-----BEGIN CERTIFICATE-----')) return [];
    return [problem(`BERTH_HUB_CA: ${path} contains no PEM certificate`, next)];
  } catch (error) {
    return [problem(`BERTH_HUB_CA: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, next)];
  }
}

function readSettings(environment: NodeJS.ProcessEnv | undefined): Settings | Finding[] {
  let config: Config;
  try {
    config = loadConfig(environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((text) => {
      const [message = '', advice] = text.split('; next: ');
      const help = 'berth listener --help lists the settings';
      return problem(message, `${advice ?? 'correct the setting'}: ${help}`);
    });
  }
  // The roles only warn about an unknown setting. The doctor reports an unknown setting as a failure.
  const unknown = config.unknownSettings.map((setting) =>
    problem(
      describeUnknown(setting),
      'remove it, or correct its name: berth listener --help lists the settings',
    ),
  );
  const found = [...unknown, ...missing(config)];
  const { hubUrl, listenerKey: key } = config;
  return hubUrl === null || key === null || found.length > 0 ? found : { config, hubUrl, key };
}

async function checkHub({ config, hubUrl, key }: Settings): Promise<HubProbeResult> {
  const { hubCaFile: caFile, clusterEnvironment: environment, listenerId } = config;
  const { transport, close } = httpTransport({ hubUrl, apiKey: key, caFile, environment });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const sentAt = Date.now();
  try {
    const path = `/v2/listeners/${listenerId}/lease`;
    const { status, body, date } = await transport({ method: 'GET', path, signal });
    return { kind: 'answer', status, body, date, now: new Date((sentAt + Date.now()) / 2) };
  } catch (error) {
    if (signal.aborted) {
      return { kind: 'error', code: 'ETIMEDOUT', message: `no response within ${TIMEOUT_MS / 1000} s` };
    }
    const { code = '' } = error as NodeJS.ErrnoException;
    return { kind: 'error', code, message: messageOf(error) };
  } finally {
    close();
  }
}

/** The client of the cluster, or an error message. */
async function openCluster(config: Config, version: string): Promise<KubeClient | string> {
  try {
    return await createKubeClient(
      clusterOptions(config, config.listenerKubeconfig, `berth-doctor/${version}`),
    );
  } catch (error) {
    return messageOf(error);
  }
}

async function checkCluster(
  client: KubeClient | string,
  { namespace, namespaces, hosting, builds }: Config,
  lease: LeaseState | null,
  kubeconfigSetting: string,
): Promise<Finding[]> {
  if (typeof client === 'string') return noCluster(client, kubeconfigSetting);
  const registered = lease?.namespaces ?? null;
  return await clusterFindings(
    {
      client,
      namespaces,
      registered,
      hosting,
      ownNamespace: namespace,
      buildNamespace: builds?.namespace,
      used: lease?.used_namespaces,
    },
    AbortSignal.timeout(6 * TIMEOUT_MS),
  );
}

/** Id of the cluster. undefined: the id cannot be read. The findings of the cluster then name the cause. */
async function clusterIdOf(client: KubeClient | string, { namespaces }: Config): Promise<string | undefined> {
  if (typeof client === 'string') return undefined;
  return await readClusterId({ client, namespaces }).catch(() => undefined);
}

/**
 * All findings for a listener with these settings, in order.
 * @param environment default: that of this process
 */
export async function diagnose(version: string, environment?: NodeJS.ProcessEnv): Promise<Finding[]> {
  const settings = readSettings(environment);
  if (Array.isArray(settings)) return complete(settings);
  const { config, hubUrl } = settings;
  const { listenerId, rendering } = config;
  const which =
    listenerId === PLATFORM_LISTENER_ID ? 'the platform’s own listener' : `listener ${listenerId}`;
  const client = await openCluster(config, version);
  try {
    const [check, clusterId] = await Promise.all([checkHub(settings), clusterIdOf(client, config)]);
    const hub = hubFindings(check, { hubUrl, listenerId, version, rendering, clusterId });
    const cluster = await checkCluster(client, config, hub.lease, listenerKubeconfigSetting(environment));
    return [ok('settings', `complete, for ${which}`), ...hub.findings, ...cluster];
  } finally {
    if (typeof client !== 'string') await client.close();
  }
}

/**
 * Prints the findings.
 * @returns the exit code: 1 if a check failed
 */
export async function doctorCommand(output: Format, version: string): Promise<0 | 1> {
  const findings = await diagnose(version);
  await printed(output, report(findings), { table: () => asText(findings) });
  return isHealthy(findings) ? 0 : 1;
}
