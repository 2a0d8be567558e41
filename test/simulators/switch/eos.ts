import { answerEapi } from '#test/simulators/switch/apis.ts';
import { type ChannelForm, channelGroup, removeChannel } from '#test/simulators/switch/channels.ts';
import { editRecorded } from '#test/simulators/switch/edit-recorded.ts';
import { showSwitchports } from '#test/simulators/switch/eos-switchports.ts';
import { type HttpsSwitch, startHttpsSwitch } from '#test/simulators/switch/https-server.ts';
import {
  type ServedSwitch,
  type ShellSession,
  type SwitchServer,
  startSwitchServer,
} from '#test/simulators/switch/switch-server.ts';
import {
  addLine,
  changeSection,
  copyConfig,
  printConfig,
  type SectionCommand,
  type TextConfig,
} from '#test/simulators/switch/text-config.ts';

/**
 * Arista EOS over SSH: modes, configuration sessions (copies of the running configuration, five at most, kept when the
 * login ends), `commit timer`, `write memory`, JSON of what is shown. From Arista's documents; never compared with a switch.
 */
export interface EosSwitch extends SwitchServer {
  readonly state: EosState;
  /** Somebody else's change. */
  configure(section: string, ...commands: string[]): void;
  reboot(): void;
}

export type EosApi = HttpsSwitch & Pick<EosSwitch, 'state' | 'configure' | 'reboot'>;

interface EosState {
  readonly recorded: (command: string) => string | undefined;
  running: TextConfig;
  startup: TextConfig;
  readonly sessions: Map<string, { config: TextConfig; state: 'pending' | 'pendingCommitTimer' | 'completed' }>;
  timer: { name: string; before: TextConfig; timeout: NodeJS.Timeout } | undefined;
  /** How fast the commit timer runs: a test can't wait for minutes. */
  timerMs: number;
  /** Says yes, and does nothing. */
  isDeaf: boolean;
  saveFails: boolean;
}

const interfaceCommands: readonly SectionCommand[] = [
  { form: /^switchport$/, key: 'switchport' },
  { form: /^switchport mode (access|trunk)$/, key: 'switchport mode' },
  { form: /^switchport access vlan \d+$/, key: 'switchport access vlan' },
  { form: /^switchport trunk allowed vlan (none|all|[\d,-]+)$/, key: 'switchport trunk allowed vlan' },
  { form: /^switchport trunk native vlan \d+$/, key: 'switchport trunk native vlan' },
  { form: /^switchport phone vlan \d+$/, key: 'switchport phone vlan' },
  { form: /^switchport phone trunk \S+$/, key: 'switchport phone trunk' },
  { form: /^mlag \d+$/, key: 'mlag' },
  channelGroup,
  { form: /^description .+$/, key: 'description' },
];
const channels: ChannelForm = {
  section: (number) => `interface Port-Channel${number}`,
  join: channelGroup,
  shared: [],
};
const vlanCommands: readonly SectionCommand[] = [{ form: /^name \S+$/, key: 'name' }];

interface EosPorts {
  /** Outputs that it shows, with what is changed since in its place. */
  readonly recorded?: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly vlans: readonly number[];
}

export async function startEosSwitch(options: EosPorts): Promise<EosSwitch> {
  const eos = createEos(options);
  const server = await startSwitchServer({ openShell: () => openSession(eos.state) });
  return { ...server, ...eos, stop: () => eos.end(server) };
}

/** Over eAPI. */
export async function startEosApi(options: EosPorts): Promise<EosApi> {
  const eos = createEos(options);
  const server = await startHttpsSwitch((request) => answerEapi(request, () => openSession(eos.state)));
  return { ...server, ...eos, stop: () => eos.end(server) };
}

function createEos(options: EosPorts) {
  const recorded = options.recorded ?? {};
  const running: TextConfig = new Map([
    ...readCommands(recorded['show running-config | json'] ?? '{"cmds":{}}'),
    ...options.vlans.map((vlan) => [`vlan ${vlan}`, new Map()] as const),
    // a port that nobody has set: a trunk of all VLANs, as its neighbour may have left it
    ...options.ports.map(
      (port) => [`interface ${port}`, new Map([['switchport mode', 'switchport mode trunk']])] as const,
    ),
  ]);
  const state: EosState = {
    running,
    startup: copyConfig(running),
    sessions: new Map(),
    timer: undefined,
    timerMs: 60_000,
    isDeaf: false,
    saveFails: false,
    recorded: (command) => {
      const output = recorded[command];
      const [before, after] = [begun, state.running].map((config) => show(config, command));
      if (output === undefined || before === undefined || after === undefined) return output;
      return editRecorded(output, { before, after });
    },
  };
  const begun = copyConfig(running);
  return {
    state,
    configure: (section: string, ...commands: string[]) => {
      for (const command of commands) changeSection(sectionOf(state.running, section), command, interfaceCommands);
    },
    reboot: () => {
      if (state.timer) clearTimeout(state.timer.timeout);
      state.timer = undefined;
      state.sessions.clear();
      state.running = copyConfig(state.startup);
    },
    end: async (server: ServedSwitch) => {
      if (state.timer) clearTimeout(state.timer.timeout);
      await server.stop();
    },
  };
}

interface Mode {
  privileged: boolean;
  session?: string;
  sections: string[];
}

const invalid = (command: string): string =>
  `% Invalid input (at token ${command.split(' ').length - 1}: '${command.split(' ').at(-1) ?? ''}')`;

function openSession(state: EosState): ShellSession {
  const mode: Mode = { privileged: false, sections: [] };
  return {
    prompt: () => {
      if (!mode.privileged) return 'leaf1>';
      const [section] = mode.sections;
      const where = [mode.session?.slice(0, 6), section?.replace(/^interface Ethernet/, 'if-Et')]
        .filter(Boolean)
        .join('-');
      return mode.session === undefined ? 'leaf1#' : `leaf1(config-s-${where})#`;
    },
    execute: (command) => {
      if (command === 'enable') mode.privileged = true;
      else if (!mode.privileged) return '% Invalid input (privileged mode required)';
      else if (/^terminal (length|width) \d+$/.test(command)) return '';
      else if (mode.session !== undefined) return inSession(state, mode, mode.session, command);
      else return privileged(state, mode, command);
      return '';
    },
  };
}

/** Sections, and lines that stand alone as sections without lines. */
function readCommands(text: string): TextConfig {
  const { cmds } = JSON.parse(text) as { cmds: Record<string, { cmds: Record<string, null> } | null> };
  return new Map(
    Object.entries(cmds).map(([name, section]) => {
      const lines = new Map<string, string>();
      for (const line of Object.keys(section?.cmds ?? {})) addLine(lines, line, interfaceCommands);
      return [name, lines] as const;
    }),
  );
}

function privileged(state: EosState, mode: Mode, command: string): string {
  const recorded = state.recorded(command);
  if (recorded !== undefined) return recorded;
  const session = /^configure session (\S+)(?: (commit|abort|commit timer \d\d:\d\d:\d\d))?$/.exec(command);
  if (session) return aboutSession(state, mode, session[1] ?? '', session[2]);
  const shown = /^show session-config named (\S+) diffs$/.exec(command)?.[1];
  if (shown !== undefined) return diffsOf(state, shown);
  if (command === 'write memory') {
    if (state.saveFails)
      return '% Error copying system:/running-config to flash:/startup-config (No space left on device)';
    state.startup = copyConfig(state.running);
    return 'Copy completed successfully.';
  }
  const output = show(state.running, command);
  if (output !== undefined) return output;
  if (command === 'show configuration sessions detail | json') {
    const sessions = Object.fromEntries([...state.sessions].map(([name, each]) => [name, { state: each.state }]));
    return JSON.stringify({ maxSavedSessions: 1, maxOpenSessions: 5, sessions });
  }
  return invalid(command);
}

function show(running: TextConfig, command: string): string | undefined {
  if (command === 'show interfaces switchport | json') return JSON.stringify({ switchports: showSwitchports(running) });
  if (command === 'show running-config | json') {
    const cmds = [...running].map(([section, lines]) => {
      const own = Object.fromEntries([...lines.values()].map((line) => [line, null]));
      return [section, { cmds: own, comments: [] }];
    });
    return JSON.stringify({ header: [], cmds: { 'spanning-tree mode mstp': null, ...Object.fromEntries(cmds) } });
  }
  if (command !== 'show vlan | json') return undefined;
  const vlans = [...running].flatMap(([section, lines]) => {
    const vlan = /^vlan (\d+)$/.exec(section)?.[1];
    if (vlan === undefined) return [];
    const name = lines.get('name')?.slice('name '.length) ?? `VLAN${vlan.padStart(4, '0')}`;
    const interfaces = running.has(`interface Vlan${vlan}`) ? { Cpu: { privatePromoted: false } } : {};
    return [[vlan, { status: 'active', name, interfaces }] as const];
  });
  return JSON.stringify({ vlans: Object.fromEntries(vlans) }, null, 4);
}

function aboutSession(state: EosState, mode: Mode, name: string, what: string | undefined): string {
  const known = state.sessions.get(name);
  if (what === undefined) {
    const pending = [...state.sessions.values()].filter((each) => each.state === 'pending');
    if (!known && pending.length >= 5)
      return '% Maximum number of pending sessions has been reached. Please commit or abort previous sessions';
    if (!known) state.sessions.set(name, { config: copyConfig(state.running), state: 'pending' });
    mode.session = name;
    mode.sections = [];
    return '';
  }
  if (!known) return `% Session ${name} does not exist`;
  if (what.startsWith('commit timer')) return commitFor(state, name);
  const { timer } = state;
  const isTimed = timer?.name === name;
  if (what === 'abort') {
    if (isTimed) takeBack(state);
    state.sessions.delete(name);
    return '';
  }
  if (isTimed) {
    clearTimeout(timer.timeout);
    state.timer = undefined;
  } else if (known.state === 'completed') return `% Session ${name} is already committed`;
  else take(state, known.config);
  known.state = 'completed';
  return '';
}

function inSession(state: EosState, mode: Mode, name: string, command: string): string {
  const session = state.sessions.get(name);
  if (!session) return `% Session ${name} does not exist`;
  if (command === 'exit') {
    if (mode.sections.length === 0) delete mode.session;
    mode.sections = [];
    return '';
  }
  if (command === 'end') {
    delete mode.session;
    mode.sections = [];
    return '';
  }
  const gone = /^no (interface Port-Channel\d+)$/.exec(command)?.[1];
  if (gone !== undefined) return removeChannel(session.config, gone, channels) === undefined ? '' : invalid(command);
  const unwanted = /^no (vlan \d+)$/.exec(command)?.[1];
  if (unwanted !== undefined) return session.config.delete(unwanted) ? '' : invalid(command);
  const target = /^(interface|vlan) (\S+)$/.exec(command);
  if (target?.[1] === 'interface') return enterInterfaces(session.config, mode, target[2] ?? '', command);
  if (target) {
    sectionOf(session.config, command);
    mode.sections = [command];
    return '';
  }
  for (const section of mode.sections) {
    const known = section.startsWith('vlan ') ? vlanCommands : interfaceCommands;
    const joins = channelGroup.form.exec(command)?.[1];
    if (joins !== undefined && !session.config.has(channels.section(joins))) return invalid(command);
    if (changeSection(sectionOf(session.config, section), command, known)) return invalid(command);
  }
  return mode.sections.length === 0 ? invalid(command) : '';
}

function diffsOf(state: EosState, name: string): string {
  const session = state.sessions.get(name);
  if (!session) return `% Session ${name} does not exist`;
  return `--- system:/running-config\n+++ session:/${name}-session-config\n${printConfig(session.config)}`;
}

function commitFor(state: EosState, name: string): string {
  const session = state.sessions.get(name);
  if (state.timer) return `% Commit failed: session ${state.timer.name} is pending commit timer`;
  if (!session) return '% Session does not exist';
  const before = state.running;
  take(state, session.config);
  session.state = 'pendingCommitTimer';
  state.timer = { name, before, timeout: setTimeout(() => takeBack(state), state.timerMs) };
  return '';
}

function enterInterfaces(config: TextConfig, mode: Mode, text: string, command: string): string {
  // `Ethernet1,2`: no document that was found mixes kinds
  const names: string[] = [];
  for (const part of text.split(',')) {
    names.push(/^\d/.test(part) ? `${names.at(-1)?.replace(/\d.*$/, '') ?? ''}${part}` : part);
  }
  const sections = names.map((name) => `interface ${name}`);
  const made = /^Port-Channel\d+$/.test(text) ? sections[0] : undefined;
  if (made !== undefined) sectionOf(config, made);
  const kinds = new Set(names.map((name) => name.replace(/\d.*$/, '')));
  if (kinds.size > 1 || sections.some((section) => !config.has(section))) return invalid(command);
  mode.sections = sections;
  return '';
}

function take(state: EosState, config: TextConfig): void {
  if (!state.isDeaf) state.running = copyConfig(config);
}

function takeBack(state: EosState): void {
  if (!state.timer) return;
  clearTimeout(state.timer.timeout);
  state.running = state.timer.before;
  state.sessions.delete(state.timer.name);
  state.timer = undefined;
}

function sectionOf(config: TextConfig, section: string): Map<string, string> {
  const lines = config.get(section) ?? new Map<string, string>();
  config.set(section, lines);
  return lines;
}
