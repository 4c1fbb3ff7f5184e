import type { ServerCommandName } from '../server-commands.ts';

/** Where the commands of the server run, because the package berth-cli does not contain them. */

export interface Place {
  /** Ends a sentence that begins with the command. */
  readonly where: string;
  /** The command line to use. IMAGE is the image of Berth, and … stands for the arguments. */
  readonly commandLine: string;
}

const inPod = (role: string, words: string) =>
  `kubectl -n berth-system exec deploy/berth-${role} -- node /app/src/main.js ${words}`;

/** The user of the image cannot read or write files of other users, so the container runs as the user of the shell. */
const inContainer = (words: string) =>
  `docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" --workdir /work --env-file operator.env --env BERTH_KUBECONFIG=berth.kubeconfig IMAGE ${words}`;

const inPodOfApi = (words: string): Place => ({
  where: 'runs in a pod of the API, which has the database and the keys',
  commandLine: inPod('api', words),
});
const withFiles = (words: string): Place => ({
  where: 'runs in the image, with a kubeconfig and settings in the current folder (docs/install.md)',
  commandLine: inContainer(words),
});
const byChart = (words: string): Place => ({
  where: 'is started by the chart, and the image prints its settings',
  commandLine: `docker run --rm IMAGE ${words} --help`,
});

export const SERVER_PLACES: Readonly<Record<ServerCommandName, Place>> = {
  api: byChart('api'),
  listener: {
    where: 'is started by the chart, and its doctor runs in its pod',
    commandLine: inPod('listener', 'listener doctor'),
  },
  operator: byChart('operator'),
  all: byChart('all'),
  migrate: byChart('migrate'),
  'build-step': {
    where: 'is started by the operator in the Job of a build',
    commandLine: 'docker run --rm IMAGE build-step --help',
  },
  keys: inPodOfApi('keys …'),
  tracing: inPodOfApi('tracing resync'),
  export: withFiles('export …'),
  'upgrade-preview': withFiles('upgrade-preview …'),
  config: {
    where: 'runs in the pod whose settings it prints',
    commandLine: inPod('api', 'config'),
  },
};
