import { type FoundVlans, isIsolated, vlanList } from '#conductor/model/port-vlans.ts';
import type { RecordedVlans, SwitchRecording } from '#conductor/networks/switch-driver.ts';
import type { Logins } from '#conductor/networks/switches/command-line/logins.ts';
import type { SwitchOs, SwitchRows, SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

/** Version, and what the switch says of itself and hears by LLDP: for people. Only where a command line takes them. */
export const askedBesides: Readonly<Record<string, readonly string[]>> = {
  'ios-xe': ['show version', 'show lldp neighbors detail'],
  nxos: ['show version', 'show lldp neighbors detail'],
  eos: ['show version', 'show lldp neighbors detail'],
  junos: ['show version', 'show lldp local-information'],
  os10: ['show version', 'show lldp neighbors'],
  'aos-cx': ['show version', 'show lldp local-device'],
  sonic: ['show version', 'show lldp table'],
  cumulus: ['cat /etc/os-release', 'lldpcli show neighbors -f keyvalue'],
  linux: ['cat /etc/os-release', 'lldpcli show neighbors -f keyvalue'],
};

/**
 * Runs the commands that read, each by itself, and reads what they print as for a move. A command that is refused is among
 * the faults, and so is what the driver can't read.
 * @param atShell whether the transport takes any command
 */
export async function recordSwitch(
  { os, rows, logins, atShell }: { os: SwitchOs; rows: SwitchRows; logins: Logins; atShell: boolean },
  signal: AbortSignal | undefined,
): Promise<SwitchRecording> {
  const reads = [...rows.read.commands, ...(rows.bonds?.commands ?? [])];
  const more = atShell ? [...(os.lldpNames?.commands ?? []), ...(askedBesides[os.name] ?? [])] : [];
  const outputs: Record<string, string> = {};
  const faults: string[] = [];
  for (const command of new Set([...reads, ...more])) {
    try {
      const [output = ''] = await (await logins.current(signal)).run([command], signal);
      outputs[command] = output;
    } catch (error) {
      const isRefused = errorCode(error) === 'switch_error' || errorCode(error) === 'busy';
      // without a login there is nothing to record
      if (!isRefused || Object.keys(outputs).length === 0) throw error;
      faults.push(`${command}: ${errorChain(error)}`);
    }
  }
  const texts = reads.flatMap((command) => outputs[command] ?? []);
  // nothing in place of an output would read as ports in no network
  if (texts.length < reads.length) return { outputs, reading: null, faults };
  try {
    return { outputs, reading: readingOf(rows.read.parse(texts), rows.bonds?.members(texts)), faults };
  } catch (error) {
    return { outputs, reading: null, faults: [...faults, `driver ${os.name} can't read it: ${errorChain(error)}`] };
  }
}

function readingOf(
  { ports, vlans }: SwitchSnapshot,
  members: SwitchSnapshot['members'],
): NonNullable<SwitchRecording['reading']> {
  const bonds = Map.groupBy(members ?? new Map(), ([, { name }]) => name);
  return {
    ports: Object.fromEntries([...ports].map(([portId, found]) => [portId, vlansAsText(found)])),
    ...(bonds.size === 0
      ? {}
      : {
          bonds: Object.fromEntries(
            [...bonds].map(([name, ofIt]) => {
              const { mode = 'other', acrossPair = false } = ofIt[0]?.[1] ?? {};
              return [name, { mode, pair: acrossPair, members: ofIt.map(([portId]) => portId) }];
            }),
          ),
        }),
    ...(vlans && vlans !== 'unknown' ? { vlans: vlanList([...vlans]) } : {}),
  };
}

/** Writes VLANs as recordings have them: `other`, `isolated`, `100`, `{native: 100, tagged: "200-202"}`. */
function vlansAsText(found: FoundVlans): RecordedVlans {
  if (found === 'other') return 'other';
  if (isIsolated(found)) return 'isolated';
  const { untagged, tagged } = found;
  if (tagged.length === 0 && untagged !== undefined) return untagged;
  return { ...(untagged === undefined ? {} : { native: untagged }), tagged: vlanList(tagged) };
}
