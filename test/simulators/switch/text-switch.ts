import { answerNxApi } from '#test/simulators/switch/apis.ts';
import { type ChannelForm, channelFault, passOn, removeChannel } from '#test/simulators/switch/channels.ts';
import { editRecorded } from '#test/simulators/switch/edit-recorded.ts';
import { type HttpsSwitch, startHttpsSwitch } from '#test/simulators/switch/https-server.ts';
import { type ShellSession, type SwitchServer, startSwitchServer } from '#test/simulators/switch/switch-server.ts';
import {
  changeSection,
  copyConfig,
  readConfig,
  type SectionCommand,
  type TextConfig,
} from '#test/simulators/switch/text-config.ts';

/**
 * A switch whose running configuration is changed line by line: modes, refusals, a startup configuration that a restart
 * goes back to. What differs between systems is a row of `textSystems`, from their documents; none was compared with hardware.
 */
export interface TextSwitch extends SwitchServer {
  readonly state: TextState;
  readonly system: TextSystem;
  configure(section: string, ...commands: string[]): void;
  reboot(): void;
}

/** Outputs that a switch begins with, as they were recorded: by command what it shows, with what is changed since in its place. */
export type RecordedOutputs = Readonly<Record<string, string>>;

export interface TextState {
  /** Whether it knows ISL, and takes no trunk without an encapsulation. */
  isl: boolean;
  /** Whether it routes at no port, and does not know the bare `switchport`. */
  isLayer2: boolean;
  running: TextConfig;
  startup: TextConfig;
  isDeaf: boolean;
  saveFails: boolean;
}

export interface TextSystem {
  readonly name: string;
  readonly port: (number: number) => string;
  /** How its configuration has the port's name, if otherwise. */
  readonly written?: (port: string) => string;
  /** Settings of a port that nobody has set. */
  readonly fresh: Readonly<Record<string, string>>;
  /** Lists what makes an access port, by hand. */
  readonly byHand: (vlan: number) => readonly string[];
  /** Names in a command such as `interface range A , B`; `undefined` when it is none. */
  readonly interfaces: (command: string) => readonly string[] | undefined;
  /** The section that a command about a VLAN opens. */
  readonly vlan: (command: string) => string | undefined;
  readonly interfaceCommands: readonly SectionCommand[];
  readonly channels: ChannelForm;
  /** The channel that the command makes, if it is not there: `interface port-channel7`. */
  readonly channel: RegExp;
  /** Settings that go when this command is given. */
  readonly clears?: (command: string) => readonly string[];
  readonly prompt: (mode: 'exec' | 'privileged' | 'config' | 'interface' | 'vlan') => string;
  /** Whether `enable` comes first. */
  readonly needsEnable: boolean;
  /** A terminal's Enter, where it takes nothing else. */
  readonly lineEnd?: '\r';
  readonly quiet: RegExp;
  readonly show: (command: string, config: TextConfig, isl: boolean) => string | undefined;
  readonly save: string;
  readonly saved: string;
  readonly refusal: (command: string) => string;
}

const description: SectionCommand = { form: /^(description|name) \S+$/, key: 'description' };

export async function startTextSwitch(
  system: TextSystem,
  vlans: readonly number[] = [1],
  recorded: RecordedOutputs = {},
): Promise<TextSwitch> {
  const { shown, ...text } = createTextSwitch(system, vlans, recorded);
  return { ...(await startSwitchServer({ openShell: () => openSession(system, text.state, shown) })), ...text };
}

/** Over NX-API. */
export async function startNxApi(
  system: TextSystem,
  recorded: RecordedOutputs = {},
): Promise<HttpsSwitch & Pick<TextSwitch, 'state' | 'configure'>> {
  const { shown, ...text } = createTextSwitch(system, [1], recorded);
  const { state } = text;
  const restorePoint = () => {
    const before = copyConfig(state.running);
    return () => {
      state.running = before;
    };
  };
  const server = await startHttpsSwitch((request) =>
    answerNxApi(request, () => openSession(system, state, shown), restorePoint),
  );
  return { ...server, ...text };
}

function shownBy(system: TextSystem, state: TextState, recorded: RecordedOutputs) {
  const begun = copyConfig(state.running);
  const keyOf = (line: string): string =>
    system.interfaceCommands.find(({ form }) => form.test(line.replace(/^no /, '')))?.key ?? line;
  return (command: string): string | undefined => {
    const output = recorded[command];
    if (output === undefined) return undefined;
    const [before, after] = [begun, state.running].map((config) => system.show(command, config, state.isl));
    return before === undefined || after === undefined ? output : editRecorded(output, { before, after, keyOf });
  };
}

function createTextSwitch(system: TextSystem, vlans: readonly number[], recorded: RecordedOutputs = {}) {
  const ports = Array.from({ length: 48 }, (_, index) => system.port(index + 1));
  const texts = Object.values(recorded);
  const begun = texts.map((text) => readConfig(text, system.interfaceCommands)).find(({ size }) => size > 0);
  const fresh = ports.map(
    (port) => [`interface ${system.written?.(port) ?? port}`, new Map(Object.entries(system.fresh))] as const,
  );
  const running: TextConfig = new Map([
    ...vlans.map((vlan) => [`vlan ${vlan}`, new Map()] as const),
    ...(begun ?? fresh),
  ]);
  const isl = texts.some((text) => /Encapsulation: (?:negotiate|isl)|switchport trunk encapsulation/.test(text));
  const state: TextState = {
    isl,
    isLayer2: false,
    running,
    startup: copyConfig(running),
    isDeaf: false,
    saveFails: false,
  };
  return {
    state,
    system,
    shown: shownBy(system, state, recorded),
    configure: (section: string, ...commands: string[]) => {
      for (const command of commands) changeLine(system, state, section, command);
    },
    reboot: () => {
      state.running = copyConfig(state.startup);
    },
  };
}

const encapsulation = 'switchport trunk encapsulation';

function changeLine(system: TextSystem, state: TextState, section: string, command: string): string | undefined {
  const lines = state.running.get(section);
  if (!lines) return 'no such section';
  const refused = channelFault(state.running, section, command, system.channels);
  if (refused !== undefined) return refused;
  const known = section.startsWith('interface ') ? system.interfaceCommands : [description];
  const isEncapsulation = command.startsWith('switchport trunk encapsulation');
  if (isEncapsulation && !state.isl) return 'unknown';
  if (state.isLayer2 && /^(no )?switchport$/.test(command)) return 'incomplete';
  if (command === 'switchport mode trunk' && state.isl && lines.get(encapsulation) !== `${encapsulation} dot1q`)
    return 'An interface whose trunk encapsulation is "Auto" can not be configured to "trunk" mode';
  const scratch = new Map(lines);
  const fault = changeSection(scratch, command.replace(/^description "(.*)"$/, 'description $1'), known);
  if (fault !== undefined) return fault;
  for (const key of system.clears?.(command) ?? []) scratch.delete(key);
  // a list takes the place of all its lines
  const isList = command.startsWith('switchport trunk allowed vlan');
  for (const key of isList ? [...scratch.keys()] : [])
    if (key.startsWith('switchport trunk allowed vlan add ')) scratch.delete(key);
  if (!state.isDeaf || !section.startsWith('interface ')) state.running.set(section, scratch);
  passOn(state.running, section, system.channels);
  return undefined;
}

function openSession(
  system: TextSystem,
  state: TextState,
  recorded: (command: string) => string | undefined = () => undefined,
): ShellSession {
  const mode: { privileged: boolean; config: boolean; sections: readonly string[] } = {
    privileged: !system.needsEnable,
    config: false,
    sections: [],
  };
  const inConfig = (command: string): string => {
    if (command === 'end') {
      mode.config = false;
      mode.sections = [];
      return '';
    }
    if (command === 'exit') {
      if (mode.sections.length === 0) mode.config = false;
      mode.sections = [];
      return '';
    }
    const vlan = system.vlan(command);
    if (vlan !== undefined) {
      if (!state.running.has(vlan)) state.running.set(vlan, new Map());
      mode.sections = [vlan];
      return '';
    }
    const unwanted = command.startsWith('no ') ? system.vlan(command.slice(3)) : undefined;
    if (unwanted !== undefined) return state.running.delete(unwanted) ? '' : system.refusal(command);
    const gone = /^no (interface .+)$/.exec(command)?.[1];
    if (gone !== undefined) {
      return removeChannel(state.running, gone, system.channels) === undefined ? '' : system.refusal(command);
    }
    const channel = system.channel.exec(command)?.[0];
    if (channel !== undefined && !state.running.has(channel))
      state.running.set(channel, new Map(command === channel ? [] : [['form', command.slice(channel.length + 1)]]));
    const interfaces = system.interfaces(command)?.map((name) => `interface ${name}`);
    if (interfaces) {
      if (interfaces.some((section) => !state.running.has(section))) return system.refusal(command);
      mode.sections = interfaces;
      return '';
    }
    const faults = mode.sections.map((section) => changeLine(system, state, section, command));
    return mode.sections.length === 0 || faults.some((fault) => fault !== undefined) ? system.refusal(command) : '';
  };
  return {
    ...(system.lineEnd && { lineEnd: system.lineEnd }),
    prompt: () => {
      if (!mode.config) return system.prompt(mode.privileged ? 'privileged' : 'exec');
      const [section] = mode.sections;
      if (section === undefined) return system.prompt('config');
      return system.prompt(section.startsWith('vlan') ? 'vlan' : 'interface');
    },
    execute: (command) => {
      if (mode.config) return inConfig(command);
      if (system.quiet.test(command)) return '';
      if (command === 'enable' && system.needsEnable) {
        mode.privileged = true;
        return '';
      }
      if (!mode.privileged) return system.refusal(command);
      // words may be cut short
      if (/^conf(ig(ure)?)? t(erm(inal)?)?$/.test(command)) {
        mode.config = true;
        return '';
      }
      if (command === system.save) {
        if (state.saveFails) return '% Error: no space left on device';
        state.startup = copyConfig(state.running);
        return system.saved;
      }
      return recorded(command) ?? system.show(command, state.running, state.isl) ?? system.refusal(command);
    },
  };
}
