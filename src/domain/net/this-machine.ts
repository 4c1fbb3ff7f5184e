/** The names of this machine in URLs. Other addresses of 127.0.0.0/8 can belong to another process, or to a forward. */
const HOSTNAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a URL names this machine, so that plain HTTP crosses no network. */
export const isThisMachine = ({ hostname }: URL): boolean => HOSTNAMES.has(hostname);
