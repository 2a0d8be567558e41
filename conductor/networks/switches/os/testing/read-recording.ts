import { askedBesides } from '#conductor/networks/switches/command-line/record-switch.ts';
import type {
  Membership,
  SwitchOs,
  SwitchRows,
  SwitchSnapshot,
} from '#conductor/networks/switches/command-line/switch-os.ts';
import { parseXml } from '#conductor/networks/switches/netconf/xml.ts';
import { aosCx } from '#conductor/networks/switches/os/aos-cx.ts';
import { cumulus } from '#conductor/networks/switches/os/cumulus.ts';
import { eos } from '#conductor/networks/switches/os/eos.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { junos } from '#conductor/networks/switches/os/junos.ts';
import { linux } from '#conductor/networks/switches/os/linux.ts';
import { nxos } from '#conductor/networks/switches/os/nxos.ts';
import { openconfig } from '#conductor/networks/switches/os/openconfig.ts';
import { os10 } from '#conductor/networks/switches/os/os10.ts';
import { aosCxRest } from '#conductor/networks/switches/os/ports/aos-cx-rest.ts';
import { sonic } from '#conductor/networks/switches/os/sonic.ts';
import { vlansOf } from '#conductor/networks/switches/ovs-port-rows.ts';
import type { Recording } from '#test/recorded/read-recordings.ts';

/** Reads a recording of a switch by the parser of its system. */

type Switch = Recording<unknown>;

export const systems = [aosCx, cumulus, eos, iosXe, junos, linux, nxos, openconfig, os10, sonic];

/** In the order of the commands that a driver runs. */
function outputsFor(
  os: Pick<SwitchRows, 'read'> & Partial<Pick<SwitchOs, 'name' | 'lldpNames'>>,
  { outputs }: Switch,
): string[] {
  const { name, read } = os;
  const { commands } = read;
  const xml = Object.entries(outputs).filter(([name]) => /^(interfaces|network-instances)$/.test(name));
  if (xml.length > 0) return xml.map(([, text]) => JSON.stringify(parseXml(`<rpc-reply>${text}</rpc-reply>`)));
  const besides = name === undefined ? [] : [...(os.lldpNames?.commands ?? []), ...(askedBesides[name] ?? [])];
  const odd = Object.keys(outputs).find((command) => !commands.includes(command) && !besides.includes(command));
  if (odd !== undefined) throw new Error(`no driver runs ${odd}`);
  return commands.map((command) => outputs[command] ?? '');
}

export interface Read {
  readonly snapshot: SwitchSnapshot;
  readonly members: ReadonlyMap<string, Membership>;
  readonly isPort: (name: string) => boolean;
  /** Ports by what the switch calls them in LLDP, where its driver asks for that and the recording has it. */
  readonly names: ReadonlyMap<string, string>;
}

export function readBy(recording: Switch): Read {
  const [system] = recording.name.split('/');
  if (system === 'ovs') {
    const rows = JSON.parse(recording.outputs['select Port'] ?? '') as Record<string, unknown>[];
    const ports = new Map(rows.map((row) => [String(row['name']), vlansOf(row)]));
    return { snapshot: { ports, vlans: undefined }, members: new Map(), isPort: () => true, names: new Map() };
  }
  const isRest = Object.keys(recording.outputs).some((name) => name.startsWith('GET '));
  const os: (SwitchRows & Partial<SwitchOs>) | undefined = isRest
    ? aosCxRest
    : systems.find(({ name }) => name === system);
  if (!os) throw new Error(`${recording.name} is of no system`);
  const outputs = outputsFor(os, recording);
  const { portId } = systems.find(({ name }) => name === system) ?? { portId: /^/ };
  const members = os.bonds?.members(outputs) ?? new Map();
  const asked = os.lldpNames?.commands.map((command) => recording.outputs[command]) ?? [];
  const answers = asked.filter((answer) => answer !== undefined);
  const names = answers.length < asked.length ? undefined : os.lldpNames?.parse(answers);
  return {
    snapshot: os.read.parse(outputs),
    members,
    isPort: (name) => portId.test(name),
    names: names ?? new Map(),
  };
}
