import { editRecorded } from '#test/simulators/switch/edit-recorded.ts';
import { junosFace } from '#test/simulators/switch/junos-netconf.ts';
import {
  type ShellSession,
  type SwitchFace,
  type SwitchServer,
  startSwitchServer,
} from '#test/simulators/switch/switch-server.ts';

/**
 * Junos over SSH: an exclusive candidate that is lost with its login, `commit confirmed`, `rollback`, the text of its
 * errors and warnings. From Juniper's documents; never compared with a switch.
 */
export interface JunosSwitch extends SwitchServer {
  readonly state: JunosState;
  configure(...lines: string[]): void;
}

interface JunosState {
  readonly recorded: (command: string) => string | undefined;
  /** Lines that ranges and groups give, without `set`: editing a port leaves them. */
  readonly inherited: readonly string[];
  /** Lines of `display set`, without `set`. */
  running: Set<string>;
  /** Former ones, the last first. */
  readonly former: Set<string>[];
  candidate: Set<string> | undefined;
  holder: ShellSession | undefined;
  confirming: { comment: string; timeout: NodeJS.Timeout } | undefined;
  readonly ports: readonly string[];
  /** How long an unconfirmed commit lasts: a test can't wait for minutes. */
  confirmMs: number;
}

/** Configuration that it begins with, in place of trunks that nobody has set; lines without `set`. */
interface JunosConfig {
  /** Outputs that it shows, with what is changed since in its place. */
  readonly recorded?: Readonly<Record<string, string>>;
  readonly running: readonly string[];
  readonly inherited: readonly string[];
}

export function startJunosSwitch(ports: readonly string[], config?: JunosConfig): Promise<JunosSwitch> {
  return startJunos(ports, (openSession) => ({ openShell: openSession }), config);
}

/** Over NETCONF. */
export function startJunosNetconf(ports: readonly string[], config?: JunosConfig): Promise<JunosSwitch> {
  return startJunos(ports, (openSession) => ({ netconf: junosFace(openSession) }), config);
}

async function startJunos(
  ports: readonly string[],
  faceOf: (openSession: () => ShellSession) => SwitchFace,
  config: JunosConfig | undefined,
): Promise<JunosSwitch> {
  const fresh = ports.map((port) => `interfaces ${port} unit 0 family ethernet-switching interface-mode trunk`);
  const state: JunosState = {
    running: new Set(config?.running ?? ['vlans default vlan-id 1', ...fresh]),
    inherited: config?.inherited ?? [],
    recorded: (command) => {
      const output = config?.recorded?.[command];
      const [before, after] = [begun, state.running].map((running) => show({ ...state, running }, command));
      if (output === undefined || before === undefined || after === undefined) return output;
      return editRecorded(output, { before, after });
    },
    former: [],
    candidate: undefined,
    holder: undefined,
    confirming: undefined,
    ports,
    confirmMs: 120_000,
  };
  const begun = new Set(state.running);
  const server = await startSwitchServer(faceOf(() => openSession(state)));
  return {
    ...server,
    state,
    configure: (...lines) => {
      for (const line of lines) edit(state.running, line);
    },
    stop: async () => {
      clearTimeout(state.confirming?.timeout);
      await server.stop();
    },
  };
}

function edit(config: Set<string>, line: string): string {
  const [verb, ...rest] = line.split(' ');
  const path = rest.join(' ');
  if (verb === 'set') {
    // of these there is one at most
    const single = /^(.* (?:interface-mode|vlan-id|native-vlan-id)) \S+$/.exec(path)?.[1];
    for (const old of config) if (single !== undefined && old.startsWith(`${single} `)) config.delete(old);
    config.add(path);
    return '';
  }
  const gone = [...config].filter((old) => old === path || old.startsWith(`${path} `));
  for (const old of gone) config.delete(old);
  return gone.length === 0 ? 'warning: statement not found' : '';
}

function openSession(state: JunosState): ShellSession {
  const leave = (): void => {
    if (state.holder !== session) return;
    state.holder = undefined;
    state.candidate = undefined;
  };
  let typed: string[] | undefined;
  const load = (line: string): string => {
    if (line !== '\u0004') {
      typed?.push(line);
      return '';
    }
    const lines = typed ?? [];
    typed = undefined;
    const wrong = lines.findIndex((each) => !/^(set|delete) \S/.test(each));
    if (wrong >= 0) return `terminal:${wrong + 1}:(1) syntax error: ${lines[wrong]}\nload complete (1 errors)`;
    const said = lines.map((each) => edit(state.candidate ?? new Set(), each));
    return [...said.filter(Boolean), 'load complete'].join('\n');
  };
  const session: ShellSession = {
    isTyping: () => typed !== undefined,
    prompt: () => (typed ? '' : state.holder === session ? '\n[edit]\nbaton@leaf1# ' : '\n{master:0}\nbaton@leaf1> '),
    execute: (command) => {
      if (typed) return load(command);
      if (state.holder === session && command === 'load set terminal') {
        typed = [];
        return '[Type ^D at a new line to end input]';
      }
      if (state.holder === session) return inConfiguration(state, command, leave);
      if (command === 'configure exclusive' || command === 'configure') {
        if (state.holder)
          return 'error: configuration database locked by:\n  admin terminal pts/0 (pid 50198) on since 2026-11-23\n      exclusive [edit]';
        state.holder = session;
        state.candidate = new Set(state.running);
        return 'warning: uncommitted changes will be discarded on exit\nEntering configuration mode';
      }
      return operational(state, command);
    },
    end: leave,
  };
  return session;
}

function operational(state: JunosState, command: string): string {
  const recorded = state.recorded(command);
  if (recorded !== undefined) return recorded;
  if (/^set cli screen-(length|width) 0$/.test(command))
    return `Screen ${command.includes('length') ? 'length' : 'width'} set to 0`;
  const output = show(state, command);
  if (output !== undefined) return output;
  if (command === 'show system commit') {
    const by = '2026-11-23 02:00:00 UTC by baton via cli';
    return state.confirming
      ? `0   ${by} commit confirmed, rollback in 2mins\n    ${state.confirming.comment}`
      : `0   ${by}`;
  }
  return `                  ^\nunknown command: ${command}`;
}

function show(state: Pick<JunosState, 'running' | 'inherited' | 'ports'>, command: string): string | undefined {
  if (command === 'show interfaces terse') {
    const made = [...state.running].flatMap((line) => /^interfaces (ae\d+) /.exec(line)?.[1] ?? []);
    const all = [...state.running, ...state.inherited];
    const rows = [...new Set([...state.ports, ...made])].flatMap((port) => [
      `${port.padEnd(24)}up    up`,
      `${port}.0`
        .padEnd(24)
        .concat(
          `up    up${all.some((line) => line.startsWith(`interfaces ${port} unit 0 family `)) ? '   eth-switch' : ''}`,
        ),
    ]);
    return ['Interface               Admin Link Proto    Local', ...rows, 'me0                     up    up'].join(
      '\n',
    );
  }
  const picked = /^show configuration \| display inheritance no-comments \| display set \| match "(.*)"$/.exec(
    command,
  )?.[1];
  if (picked !== undefined)
    return ['version 21.4R3.15', ...state.running, ...state.inherited]
      .map((line) => `set ${line}`)
      .filter((line) => new RegExp(picked).test(line))
      .join('\n');
  const shown = /^show configuration (interfaces|vlans) (\| display inheritance no-comments )?\| display set$/.exec(
    command,
  );
  if (shown)
    return [...state.running, ...(shown[2] ? state.inherited : [])]
      .filter((line) => line.startsWith(`${shown[1]} `))
      .map((line) => `set ${line}`)
      .join('\n');
  return undefined;
}

function inConfiguration(state: JunosState, command: string, leave: () => void): string {
  const { candidate } = state;
  if (!candidate) return 'error: no candidate';
  if (/^(set|delete) /.test(command)) return edit(candidate, command);
  if (command === 'exit configuration-mode') {
    leave();
    return 'Exiting configuration mode';
  }
  if (command === 'show | compare')
    return [...candidate]
      .filter((line) => !state.running.has(line))
      .map((line) => `+  ${line};`)
      .join('\n');
  const back = /^rollback (\d)$/.exec(command)?.[1];
  if (back !== undefined) {
    state.candidate = new Set(back === '0' ? state.running : state.former[Number(back) - 1]);
    return 'load complete';
  }
  const unknown = [...candidate].find(
    (line) => /^interfaces (?!ae\d+ |interface-range )/.test(line) && !state.ports.includes(line.split(' ')[1] ?? ''),
  );
  if (unknown !== undefined) return `error: ${unknown}: no such interface\nerror: configuration check-out failed`;
  const member = [...candidate].flatMap((line) => /^interfaces (\S+) ether-options 802\.3ad /.exec(line)?.[1] ?? []);
  const torn = member.find((port) => [...candidate].some((line) => line.startsWith(`interfaces ${port} unit `)));
  if (torn !== undefined)
    return `error: ${torn}: logical unit is not allowed on aggregated links\nerror: configuration check-out failed`;
  const confirmed = /^commit(?: confirmed \d+ comment (\S+))?$/.exec(command);
  return confirmed ? commit(state, candidate, confirmed[1]) : `                  ^\nsyntax error: ${command}`;
}

function commit(state: JunosState, candidate: Set<string>, comment: string | undefined): string {
  clearTimeout(state.confirming?.timeout);
  state.confirming = undefined;
  const before = state.running;
  state.former.unshift(before);
  state.running = new Set(candidate);
  if (comment === undefined) return 'commit complete';
  const timeout = setTimeout(() => {
    state.running = before;
    state.confirming = undefined;
  }, state.confirmMs);
  state.confirming = { comment, timeout };
  return 'commit confirmed will be automatically rolled back in 2 minutes unless confirmed\ncommit complete';
}
