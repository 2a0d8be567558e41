import type { SwitchAccess, SwitchPortSetting, SwitchPortState } from '#conductor/networks/switch-driver.ts';
import type { SwitchOs, SwitchRows, SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';
import { vlansInUse } from '#conductor/networks/switches/command-line/vlans-in-use.ts';

interface Change {
  readonly os: SwitchOs;
  readonly rows: SwitchRows;
  readonly access: SwitchAccess;
  readonly settings: readonly SwitchPortSetting[];
  /** Before it. */
  readonly snapshot: SwitchSnapshot;
  readonly found: readonly SwitchPortState[];
}

/** What removes VLANs that Baton has created, and no port will be in. */
export async function linesOfRemoval(
  { os, rows, access, settings, snapshot, found }: Change,
  run: (commands: readonly string[]) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const { removeVlan } = rows;
  if (!access.removeVlans || !removeVlan) return [];
  const isPort = (portId: string): boolean => os.portId.test(portId);
  const used = vlansInUse({ ...snapshot, uplinks: access.uplinks ?? [], isPort }, settings, found, rows.bonds?.name);
  if (used === 'unknown') return [];
  const own = [...removeVlan.findOwn(await run(removeVlan.commands))];
  return own.filter((vlan) => !used.has(vlan)).flatMap(removeVlan.lines);
}
