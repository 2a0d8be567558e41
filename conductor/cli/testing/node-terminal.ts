import { runCommand } from '#conductor/cli/commands.ts';
import type { ApiClient } from '#conductor/cli/shell/api-client.ts';

type NodeState = { provision_state: string; target_provision_state: string | null } & Record<string, unknown>;

/** `baton` with a conductor that has one node, `n1`; tests set what it answers. */
export interface NodeTerminal {
  /** Calls that change something, `[method, path, body]`; downloads and consoles. */
  calls: unknown[][];
  output: string;
  flow: Record<string, unknown> | undefined;
  onSleep: () => void;
  /** At each look the next one; the last one stays. */
  nodeStates: NodeState[];
  imagesDirectory: string | undefined;
  registryEnvironment: Record<string, string>;
  /** Fields of the plan that it answers, beside those of an empty one. */
  plan: Record<string, unknown>;
  readonly client: ApiClient;
  readonly run: (...args: string[]) => Promise<void>;
}

const planView = {
  kind: 'deploy',
  hash: 'abc',
  steps: [],
  destroys: [],
  switch_ports: [],
  warnings: [],
  reboots: 0,
  boot_mode: 'uefi',
};

export function createNodeTerminal(): NodeTerminal {
  const client: ApiClient = {
    call: (method, path, body) => {
      if (method !== 'GET') terminal.calls.push([method, path, body]);
      if (path.startsWith('/v1/nodes?'))
        return Promise.resolve({ nodes: [{ uuid: 'u', name: 'n1', maintenance: false }] });
      if (path.endsWith('/tpm')) return Promise.resolve(undefined); // never attested
      if (path.endsWith('/flow')) return Promise.resolve(terminal.flow);
      if (path.endsWith('/plan')) return Promise.resolve({ ...planView, predicted_seconds: null, ...terminal.plan });
      const state = terminal.nodeStates.length > 1 ? terminal.nodeStates.shift() : terminal.nodeStates[0];
      return Promise.resolve(path.endsWith('/nope') ? undefined : { uuid: 'u', name: 'n1', ...state });
    },
    download: (path) => {
      terminal.calls.push(['GET', path]);
      return Promise.resolve({ content: Buffer.from('tar'), fileName: 'n1.tar.gz' });
    },
  };
  const commandTerminal = {
    connect: () => ({
      client,
      openConsole: (ident: string) => Promise.resolve(void terminal.calls.push(['console', ident])),
    }),
    describeSettings: () => Promise.resolve([]),
    screen: {
      write: (text: string | Uint8Array) => void (terminal.output += String(text)),
      isTerminal: false,
      size: () => ({ columns: 80, rows: 24 }),
    },
    clock: { now: () => new Date(), sleep: () => Promise.resolve(terminal.onSleep()) },
  };
  const terminal: NodeTerminal = {
    calls: [],
    output: '',
    flow: undefined,
    onSleep: () => undefined,
    nodeStates: [{ provision_state: 'active', target_provision_state: null }],
    client,
    imagesDirectory: undefined,
    registryEnvironment: {},
    plan: {},
    run: (...args) => {
      const { imagesDirectory, registryEnvironment } = terminal;
      return runCommand({ ...commandTerminal, imagesDirectory, registryEnvironment }, args);
    },
  };
  return terminal;
}
